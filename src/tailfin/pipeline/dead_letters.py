"""What fails, by group, topic and reason: `tailfin pipeline dlq`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailfin.broker.names import DLQ_PREFIX, dead_letter_topic
from tailfin.client.trace_records import ConsumeCode

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, Row, SparkSession

REASONS = {
    ConsumeCode.TIME_OUT: "the handler took too long",
    ConsumeCode.EXCEPTION: "the handler raised an exception",
    ConsumeCode.RETURN_NULL: "the handler returned nothing",
    ConsumeCode.FAILED: "the handler asked for a retry",
}
"""What the trace says of the last attempt."""

_LETTERS = f"""
SELECT substring(topic, {len(DLQ_PREFIX) + 1}) AS consumers, msgId AS id, storeTimestamp AS died,
       tags, keys, body,
       coalesce(properties['DLQ_ORIGIN_TOPIC'], properties['RETRY_TOPIC'], topic) AS origin,
       reconsumeTimes AS attempts
FROM {{frame}}"""
_WITH_REASON = """
SELECT l.*, coalesce(r.reason, concat('given up after attempt ', l.attempts)) AS reason
FROM {letters} l LEFT JOIN {reasons} r ON r.consumer = l.consumers AND r.id = l.id"""
_REASONS = """
SELECT consumer, id, element_at({texts}, max_by(code, at)) AS reason
FROM {consumed} WHERE NOT ok GROUP BY consumer, id"""
_SUMMARY = """
SELECT consumers, origin, reason, count(*) AS letters, min(died) AS first, max(died) AS last,
       collect_list(
         CASE WHEN number <= {samples} THEN struct(died, id, tags, keys, attempts, body) END) AS samples
FROM (SELECT *, row_number() OVER (PARTITION BY consumers, origin, reason ORDER BY died DESC) AS number
      FROM {letters})
GROUP BY consumers, origin, reason ORDER BY letters DESC, consumers, origin, reason"""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter."""

    message_id: str
    died: int
    tags: str | None
    keys: str | None
    attempts: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Failing:
    """Dead letters of one group and topic that have one reason.

    Attributes:
        group: the group that could not consume them.
        topic: where they were sent to.
        reason: why, as far as it is known.
        letters: how many.
        first: when the first one died, in milliseconds since the epoch.
        last: when the last one did.
        samples: the newest of them.
    """

    group: str
    topic: str
    reason: str
    letters: int
    first: int
    last: int
    samples: tuple[Letter, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which dead letters are meant; what is empty does not matter.

    Attributes:
        topics: sent to one of these topics.
        reason: words that stand in their reason.
        ids: one of these ids.
    """

    topics: Sequence[str] = ()
    reason: str | None = None
    ids: Sequence[str] = ()


def topics_of(groups: Sequence[str]) -> dict[str, str]:
    """Return the options that have the source read the dead letters of groups; none: of all."""
    if groups:
        return {"topic": ",".join(map(dead_letter_topic, groups))}
    return {"topicPattern": f"{DLQ_PREFIX}.+"}


def letters(
    session: "SparkSession", frame: "DataFrame", consumed: "DataFrame | None", wanted: Wanted
) -> "DataFrame":
    """Return dead letters with their reasons.

    Args:
        session: Spark.
        frame: messages of dead letter topics, with their properties.
        consumed: what the trace says of handlers (`Trace.consumed`), if there is one.
        wanted: which of them.
    """
    from pyspark.sql import functions

    found = session.sql(_LETTERS, frame=frame)
    if consumed is None:
        reason = functions.concat(functions.lit("given up after attempt "), functions.col("attempts"))
        found = found.withColumn("reason", reason)
    else:
        texts = ", ".join(f"{int(code)}, '{text}'" for code, text in REASONS.items())
        reasons = session.sql(_REASONS.replace("{texts}", f"map({texts})"), consumed=consumed)
        found = session.sql(_WITH_REASON, letters=found, reasons=reasons)
    if wanted.topics:
        found = found.where(functions.col("origin").isin(*wanted.topics))
    if wanted.ids:
        found = found.where(functions.col("id").isin(*wanted.ids))
    if wanted.reason is not None:
        found = found.where(functions.col("reason").contains(wanted.reason))
    return found


def failing(session: "SparkSession", found: "DataFrame", samples: int) -> list[Failing]:
    """Count dead letters by group, topic and reason, most of them first."""
    rows = session.sql(_SUMMARY.replace("{samples}", str(samples)), letters=found).collect()
    return [
        Failing(
            row.consumers,
            row.origin,
            row.reason,
            row.letters,
            _ms(row, "first"),
            _ms(row, "last"),
            tuple(_letter(each) for each in sorted(row.samples, key=lambda each: each.died, reverse=True)),
        )
        for row in rows
    ]


def _letter(row: "Row") -> Letter:
    return Letter(row.id, _ms(row, "died"), row.tags, row.keys, row.attempts, bytes(row.body))


def _ms(row: "Row", name: str) -> int:
    moment: datetime = row[name]
    return round(moment.timestamp() * 1000)
