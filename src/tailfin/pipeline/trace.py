"""Latencies and paths of messages, from the trace that clients write: `tailfin pipeline trace`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailfin.client.trace_records import FIELD_END, RECORD_END, ConsumeCode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

TOPIC = "RMQ_SYS_TRACE_TOPIC"
SHARES = (0.5, 0.9, 0.99, 1.0)

# The fields of each kind of record, as `tailfin.client.trace_records` writes them; older clients leave the
# last ones out.
_RECORDS = f"""
SELECT f, f[0] AS kind FROM (
  SELECT split(record, '{FIELD_END}') AS f FROM (
    SELECT explode(split(cast(body AS string), '{RECORD_END}')) AS record FROM {{frame}}
  ) WHERE record <> ''
)"""
_SENT = """
SELECT f[5] AS id, f[4] AS topic, f[3] AS producer, try_cast(f[1] AS bigint) AS at,
       try_cast(f[10] AS bigint) AS cost, coalesce(f[13], 'true') = 'true' AS ok, f[8] AS host
FROM {records} WHERE kind = 'Pub'"""
_CONSUMED = """
SELECT b.f[5] AS id, b.f[3] AS consumer, try_cast(b.f[1] AS bigint) AS at, try_cast(b.f[6] AS int) AS retries,
       try_cast(a.f[3] AS bigint) AS cost, a.f[4] = 'true' AS ok, try_cast(a.f[6] AS int) AS code
FROM (SELECT f FROM {records} WHERE kind = 'SubBefore') b
LEFT JOIN (SELECT f FROM {records} WHERE kind = 'SubAfter') a ON a.f[1] = b.f[4] AND a.f[2] = b.f[5]"""
_SENDS = """
SELECT topic, producer, count(*) AS messages, count_if(NOT ok) AS failed,
       percentile_approx(cost, {shares}) AS cost
FROM {sent} GROUP BY topic, producer ORDER BY topic, producer"""
_PATHS = """
SELECT s.topic, s.producer, c.consumer, count(*) AS deliveries, count(DISTINCT c.id) AS messages,
       count_if(NOT c.ok) AS failed, count_if(c.retries > 0) AS retried,
       percentile_approx(CASE WHEN c.retries = 0 THEN c.at - s.at END, {shares}) AS delay,
       percentile_approx(c.cost, {shares}) AS cost
FROM {consumed} c LEFT JOIN (SELECT DISTINCT id, topic, producer, at FROM {sent} WHERE ok) s ON s.id = c.id
GROUP BY s.topic, s.producer, c.consumer ORDER BY s.topic, s.producer, c.consumer"""
_EVENTS = """
SELECT at, 'sent' AS what, producer AS who, topic AS details, cost, ok, NULL AS code
FROM {sent} WHERE id = {id}
UNION ALL
SELECT at, 'consumed', consumer, concat('attempt ', retries + 1), cost, ok, code
FROM {consumed} WHERE id = {id}
ORDER BY at"""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """How long something took, in milliseconds; None: nothing is known."""

    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None

    @classmethod
    def of(cls, values: "list[int] | None") -> "Percentiles":
        """Take what Spark counted."""
        return cls(*values) if values else cls(None, None, None, None)


@dataclass(frozen=True, slots=True)
class Sends:
    """What a group of producers sent to a topic.

    Attributes:
        topic: the topic.
        producer: the group.
        messages: how many sends there were.
        failed: how many of them failed.
        cost: how long a send took.
    """

    topic: str
    producer: str
    messages: int
    failed: int
    cost: Percentiles


@dataclass(frozen=True, slots=True)
class Path:
    """A way that messages took: from a group of producers through a topic to a group of consumers.

    Attributes:
        topic: the topic; None when the sends were not traced.
        producer: the group that sent; None likewise.
        consumer: the group that consumed.
        deliveries: how often messages were given to a handler.
        messages: how many messages these were.
        failed: deliveries that the handler did not consume.
        retried: deliveries that were not the first.
        delay: from the send to the first delivery.
        cost: how long the handler took.
    """

    topic: str | None
    producer: str | None
    consumer: str
    deliveries: int
    messages: int
    failed: int
    retried: int
    delay: Percentiles
    cost: Percentiles


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a message."""

    at: int
    what: str
    who: str
    details: str
    cost_ms: int | None
    ok: bool | None
    outcome: str | None


class Trace:
    """The records of a trace topic.

    Args:
        session: Spark.
        frame: messages of the trace topic; of their columns only `body` is read.
    """

    def __init__(self, session: "SparkSession", frame: "DataFrame") -> None:
        self._session = session
        # Each question reads the records several times; the broker is asked once.
        self._records = session.sql(_RECORDS, frame=frame).cache()
        self._sent = session.sql(_SENT, records=self._records)
        self.consumed = session.sql(_CONSUMED, records=self._records)

    def close(self) -> None:
        """Let go of the records."""
        self._records.unpersist()

    def sends(self) -> list[Sends]:
        """Return how sends fared, by topic and producer."""
        rows = self._collect(_SENDS.replace("{shares}", _shares()), sent=self._sent)
        return [
            Sends(row.topic, row.producer, row.messages, row.failed, Percentiles.of(row.cost)) for row in rows
        ]

    def paths(self) -> list[Path]:
        """Return the ways that messages took."""
        rows = self._collect(_PATHS.replace("{shares}", _shares()), sent=self._sent, consumed=self.consumed)
        return [
            Path(
                row.topic,
                row.producer,
                row.consumer,
                row.deliveries,
                row.messages,
                row.failed,
                row.retried,
                Percentiles.of(row.delay),
                Percentiles.of(row.cost),
            )
            for row in rows
        ]

    def events(self, message_id: str) -> list[Event]:
        """Return what happened to one message."""
        rows = self._collect(_EVENTS, sent=self._sent, consumed=self.consumed, id=message_id)
        return [
            Event(row.at, row.what, row.who, row.details, row.cost, row.ok, outcome(row.code)) for row in rows
        ]

    def _collect(self, query: str, **parts: Any) -> "list[Row]":  # noqa: ANN401
        return self._session.sql(query, **parts).collect()


def outcome(code: int | None) -> str | None:
    """Name how a handler ended."""
    if code is None:
        return None
    return ConsumeCode(code).name if code in set(ConsumeCode) else str(code)


def _shares() -> str:
    return f"array({', '.join(map(str, SHARES))})"
