"""The records of a transaction, in RocketMQ's topics and formats."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from tailfin.broker import names
from tailfin.broker.storing import PREPARED, REAL_QUEUE, REAL_TOPIC, UNIQUE_KEY, WAIT, Draft
from tailfin.message import Message

PRODUCER_GROUP = "PGROUP"
TRANSACTION_ID = "__transactionId__"
CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
IMMUNITY_S = "CHECK_IMMUNITY_TIME_IN_SECONDS"
FIRST_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
LIGHT_QUEUES = "INNER_MULTI_DISPATCH"
LIGHT_OFFSETS = "INNER_MULTI_QUEUE_OFFSET"
TAGS = "TAGS"

QUEUE = 0
"""The only queue of the half topic and of the op topic."""
KIND_BITS = 0xC
COMMIT = 0x8
ROLLBACK = 0xC
OP_TAG = "d"
SEPARATOR = ","


def is_prepared(draft: Draft, delay_level: int) -> bool:
    """Whether a message is the first half of a transaction; old clients hand such ones back marked as one."""
    marked = draft.properties.get(PREPARED, "").lower() == "true"
    return marked and not (draft.reconsume_times > 0 and delay_level > 0)


def half_of(draft: Draft) -> Draft:
    """Turn a producer's message into a half."""
    key = draft.properties.get(UNIQUE_KEY) or uuid4().hex.upper()
    properties = {
        **draft.properties,
        UNIQUE_KEY: key,
        TRANSACTION_ID: key,
        REAL_TOPIC: draft.topic,
        REAL_QUEUE: str(draft.queue_id),
    }
    return replace(
        draft,
        topic=names.HALF_TOPIC,
        queue_id=QUEUE,
        sys_flag=draft.sys_flag & ~KIND_BITS,
        properties=properties,
    )


def real_topic(half: Message) -> str | None:
    """Return the topic that a half is meant for."""
    return half.get_property(REAL_TOPIC)


def real_queue(half: Message) -> int:
    """Return the queue that a half is meant for."""
    text = half.get_property(REAL_QUEUE) or ""
    return int(text) if text.isdecimal() else 0


def check_times(half: Message) -> int | None:
    """Return how often its producer was asked; None for a half that never was put back."""
    text = half.get_property(CHECK_TIMES)
    return int(text) if text and text.isdecimal() else None


def immunity_ms(half: Message) -> int | None:
    """Return for how long a producer asked not to be asked; None when it did not say, or no number."""
    text = half.get_property(IMMUNITY_S)
    return int(text) * 1000 if text and text.isdecimal() else None


def identity(half: Message) -> tuple[str | None, str | None, int]:
    """Return what stays the same when a half is put back."""
    return half.unique_key, half.get_property(PRODUCER_GROUP), half.born_timestamp


def committed(half: Message) -> Draft:
    """Return the message that a half was for."""
    properties = half.properties
    topic, queue_id = properties.pop(REAL_TOPIC), real_queue(half)
    for name in (REAL_QUEUE, LIGHT_OFFSETS):
        properties.pop(name, None)
    return Draft.again(
        half,
        topic=topic,
        queue_id=queue_id,
        sys_flag=half.sys_flag & ~KIND_BITS | COMMIT,
        properties=properties,
        prepared_offset=half.physical_offset,
    )


def asked_once_more(half: Message) -> Draft:
    """Return the copy of a half whose producer is asked now."""
    properties = {**half.properties, CHECK_TIMES: str((check_times(half) or 0) + 1)}
    return Draft.again(half, properties=properties)


def moved_on(half: Message) -> Draft:
    """Return the copy of a half that may not be asked for yet, but holds up the queue where it is."""
    properties = half.properties
    properties.setdefault(FIRST_OFFSET, str(half.queue_offset))
    return Draft.again(half, properties=properties)


def given_up(half: Message) -> Draft:
    """Return the copy of a half that nobody is asked for any more."""
    return Draft.again(half, topic=names.CHECK_MAX_TOPIC, queue_id=QUEUE)


def resumed(lost: Message) -> Draft:
    """Return the half that a given-up one becomes again."""
    properties = {**lost.properties, CHECK_TIMES: "0"}
    return Draft.again(lost, topic=names.HALF_TOPIC, queue_id=QUEUE, properties=properties)


def op_body(offsets: Iterable[int]) -> bytes:
    """Write the body of an op record."""
    return "".join(f"{offset}{SEPARATOR}" for offset in offsets).encode()


def op_record(offsets: Iterable[int]) -> Draft:
    """Return the record that closes halves."""
    return Draft(
        topic=names.OP_TOPIC,
        queue_id=QUEUE,
        body=op_body(offsets),
        properties={WAIT: "true", TAGS: OP_TAG},
    )


def closed_by(op: Message) -> list[int]:
    """Return the halves that an op record closes; before 5.0 each record closed one, without a comma."""
    if op.tags != OP_TAG:
        return []
    parts = op.body.decode("ascii", "replace").split(SEPARATOR)
    return [int(part) for part in parts if part.isascii() and part.isdecimal()]
