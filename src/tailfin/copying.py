"""Which properties a copy of a stored message has: all that are the user's, none that tell its first way.

A copy is sent as a new message, by a resend, a replay or Spark. Clients and brokers write down in the
properties how they carried a message; on a copy that would be untrue, or make brokers carry it so again.
"""

from collections.abc import Mapping

_DELAYED = frozenset(
    {
        "DELAY",
        "REAL_QID",
        "REAL_TOPIC",
        "TIMER_DELAY_LEVEL",
        "TIMER_DELAY_MS",
        "TIMER_DELAY_SEC",
        "TIMER_DELIVER_MS",
        "TIMER_DEL_UNIQKEY",
        "TIMER_DEQUEUE_MS",
        "TIMER_ENQUEUE_MS",
        "TIMER_OUT_MS",
        "TIMER_ROLL_TIMES",
    }
)
"""It waited: a copy would wait again, or recall a message that waits."""

_TRIED_AGAIN = frozenset(
    {
        "1ST_POP_TIME",
        "CONSUME_START_TIME",
        "DLQ_ORIGIN_MESSAGE_ID",
        "DLQ_ORIGIN_TOPIC",
        "MAX_RECONSUME_TIMES",
        "ORIGIN_GROUP",
        "ORIGIN_MESSAGE_ID",
        "POP_CK",
        "POP_CK_OFFSET",
        "RECONSUME_TIME",
        "RETRY_TOPIC",
    }
)
"""A group tried to consume it: nobody has tried a copy yet."""

_TRANSACTED = frozenset(
    {
        "CHECK_IMMUNITY_TIME_IN_SECONDS",
        "PGROUP",
        "SPARK_ATTEMPT",
        "SPARK_BATCH",
        "SPARK_PARTITION",
        "SPARK_QUERY",
        "TRANSACTION_CHECK_TIMES",
        "TRAN_MSG",
        "TRAN_PREPARED_QUEUE_OFFSET",
        "__transactionId__",
    }
)
"""It was a half message, Spark's maybe: a copy would be one that nobody commits, or of another's batch."""

_PLACED = frozenset(
    {
        "INNER_BASE",
        "INNER_MULTI_DISPATCH",
        "INNER_MULTI_QUEUE_OFFSET",
        "INNER_NUM",
        "MAX_OFFSET",
        "MIN_OFFSET",
        "PROPERTY_FORWARD_QUEUE_ID",
        "REDIRECT",
    }
)
"""It stood in certain queues, as one or as several: a copy stands elsewhere."""

_SENT = frozenset(
    {
        "ARRIVE_TIME",
        "BORN_TIMESTAMP",
        "CLUSTER",
        "CORRECTION_FLAG",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "INSTANCE_ID",
        "MQ2_FLAG",
        "MSG_REGION",
        "MSG_TYPE",
        "PUSH_REPLY_TIME",
        "TRACE_ON",
        "TRANSFER_FLAG",
        "WAIT",
        "__BORNHOST",
        "__CRC32#",
        "__RMQ.TRANSIENT.GROUP_SYS_FLAG",
        "__RMQ.TRANSIENT.TOPIC_SYS_FLAG",
    }
)
"""What its client and the broker that took it noted: those of a copy note their own."""

OF_THE_FIRST_WAY = _DELAYED | _TRIED_AGAIN | _TRANSACTED | _PLACED | _SENT
"""Properties that tell how a message came to its queue: a copy comes another way.

Not among them are what users say by a name of RocketMQ's: `KEYS`, `TAGS`, `__SHARDINGKEY`, `TRACE_CONTEXT`,
`BUYER_ID`, and of requests, which whoever consumes a copy may answer, `CORRELATION_ID`, `REPLY_TO_CLIENT` and
`TTL`. Nor is `UNIQ_KEY`: a message that is tried again keeps its id, others get one of their own.
"""

UNIQUE_KEY = "UNIQ_KEY"

OF_THE_FIRST_MESSAGE = OF_THE_FIRST_WAY | {UNIQUE_KEY}
"""What a copy lacks that is a message of its own."""


def same_message(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a message that is sent once more, as the one it was."""
    return {name: value for name, value in properties.items() if name not in OF_THE_FIRST_WAY}


def another_message(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a copy that is a message of its own."""
    return {name: value for name, value in properties.items() if name not in OF_THE_FIRST_MESSAGE}
