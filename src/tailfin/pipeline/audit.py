"""A store directory gone through: log against queues and index, and the log against itself.

`store.check` compares records, queue units and index entries one by one. What takes a view of all records at
once, numbers that are missing, taken twice or out of order, is counted by Spark, from the log's files alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailfin.store.check import COMMITTED, INNER_BATCH, TRANSACTION_MASK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

# A topic that was deleted and made again counts from 0 once more: only its last life is looked at.
_RECORDS = f"""
SELECT topic, queueId, queueOffset, msgId, physical,
       sum(CASE WHEN queueOffset = 0 THEN 1 ELSE 0 END)
         OVER (PARTITION BY topic, queueId ORDER BY physical) AS life
FROM (SELECT *, cast(conv(right(offsetMsgId, 16), 16, 10) AS bigint) AS physical FROM {{frame}})
WHERE (sysFlag & {TRANSACTION_MASK}) IN (0, {COMMITTED}) AND (sysFlag & {INNER_BATCH}) = 0"""
_LAST_LIFE = """
SELECT * FROM (SELECT *, max(life) OVER (PARTITION BY topic, queueId) AS last_life FROM {records})
WHERE life = last_life"""
_NEIGHBOURS = """
SELECT *, lag(queueOffset) OVER (PARTITION BY topic, queueId ORDER BY queueOffset, physical) AS before,
       lag(queueOffset) OVER (PARTITION BY topic, queueId ORDER BY physical) AS stored_before,
       count(*) OVER (PARTITION BY topic, msgId) AS copies
FROM {records}"""
_QUEUES = """
SELECT topic, queueId AS queue, count(*) AS records, min(queueOffset) AS first, max(queueOffset) AS last,
       sum(greatest(queueOffset - before - 1, 0)) AS missing, count_if(queueOffset = before) AS duplicated,
       count_if(queueOffset < stored_before) AS out_of_order, count_if(copies > 1) AS same_id,
       array_sort(slice(collect_list(
         CASE WHEN queueOffset - before > 1 THEN struct(before + 1 AS first, queueOffset - 1 AS last) END
       ), 1, {gaps})) AS gaps
FROM {neighbours} GROUP BY topic, queueId ORDER BY topic, queueId"""

GAPS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class QueueAudit:
    """What the log has of a queue.

    Attributes:
        topic: its topic.
        queue_id: its number.
        records: records of it.
        first: number of the first one.
        last: number of the last one.
        missing: numbers between them that no record has.
        duplicated: records whose number another one has already.
        out_of_order: records that stand behind one with a higher number.
        same_id: records whose message id others of the topic have too: a producer sent them again.
        gaps: the first of the missing ones, from and to.
    """

    topic: str
    queue_id: int
    records: int
    first: int
    last: int
    missing: int
    duplicated: int
    out_of_order: int
    same_id: int
    gaps: tuple[tuple[int, int], ...]

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are as they must be."""
        return not (self.missing or self.duplicated or self.out_of_order)


def queues(session: "SparkSession", frame: "DataFrame") -> list[QueueAudit]:
    """Count the records of a store by queue.

    Args:
        session: Spark.
        frame: all messages of one store (`rocketmq-store`).
    """
    records = session.sql(_RECORDS, frame=frame)
    records = session.sql(_LAST_LIFE, records=records)
    neighbours = session.sql(_NEIGHBOURS, records=records)
    rows = session.sql(_QUEUES.replace("{gaps}", str(GAPS_SHOWN)), neighbours=neighbours).collect()
    return [_audit(row) for row in rows]


def _audit(row: "Row") -> QueueAudit:
    return QueueAudit(
        row.topic,
        row.queue,
        row.records,
        row.first,
        row.last,
        row.missing or 0,
        row.duplicated,
        row.out_of_order,
        row.same_id,
        tuple((each.first, each.last) for each in row.gaps),
    )
