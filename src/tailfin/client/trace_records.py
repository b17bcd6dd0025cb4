"""Trace records, byte for byte as RocketMQ's tools read them. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

FIELD_END, RECORD_END = "\x01", "\x02"


class Kind(IntEnum):
    """What kind of message is traced."""

    NORMAL = 0
    HALF = 1
    COMMITTED = 2
    DELAYED = 3
    ORDERED = 4


class ConsumeCode(IntEnum):
    """How a handler ended."""

    SUCCESS = 0
    TIME_OUT = 1
    EXCEPTION = 2
    RETURN_NULL = 3
    FAILED = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One record, with the keys by which it is found."""

    text: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traced:
    """What records say about a message."""

    topic: str
    message_id: str
    tags: str = ""
    keys: str = ""
    store_host: str = ""
    offset_message_id: str = ""
    body_length: int = 0
    kind: Kind = Kind.NORMAL

    @property
    def index(self) -> tuple[str, ...]:
        """The keys of a record about this message."""
        return (self.message_id, *self.keys.split())


def published(
    message: Traced, *, at_ms: int, region: str, group: str, cost_ms: int, success: bool, client: str
) -> Record:
    """Say that a message was sent."""
    return _record(
        message.index,
        "Pub",
        at_ms,
        region,
        group,
        message.topic,
        message.message_id,
        message.tags,
        message.keys,
        message.store_host,
        message.body_length,
        cost_ms,
        int(message.kind),
        message.offset_message_id,
        _truth(success),
        client,
    )


def before_consuming(
    message: Traced, *, at_ms: int, region: str, group: str, request_id: str, retries: int
) -> Record:
    """Say that a message is given to a handler."""
    return _record(
        message.index,
        "SubBefore",
        at_ms,
        region,
        group,
        request_id,
        message.message_id,
        retries,
        message.keys,
    )


def after_consuming(
    message: Traced,
    *,
    at_ms: int,
    group: str,
    request_id: str,
    cost_ms: int,
    success: bool,
    code: ConsumeCode,
) -> Record:
    """Say how the handler ended."""
    return _record(
        message.index,
        "SubAfter",
        request_id,
        message.message_id,
        cost_ms,
        _truth(success),
        message.keys,
        int(code),
        at_ms,
        group,
    )


def transaction_ended(
    message: Traced, *, at_ms: int, region: str, group: str, transaction_id: str, state: str, from_check: bool
) -> Record:
    """Say how a transaction ended."""
    return _record(
        message.index,
        "EndTransaction",
        at_ms,
        region,
        group,
        message.topic,
        message.message_id,
        message.tags,
        message.keys,
        message.store_host,
        int(Kind.COMMITTED),
        transaction_id,
        state,
        _truth(from_check),
    )


def recalled(message: Traced, *, at_ms: int, region: str, group: str, success: bool) -> Record:
    """Say that a message was taken back."""
    return _record(
        message.index, "Recall", at_ms, region, group, message.topic, message.message_id, _truth(success)
    )


def pack(records: Iterable[Record], limit: int) -> list[tuple[bytes, tuple[str, ...]]]:
    """Put records into as few bodies as the limit allows; each comes with its keys."""
    bodies: list[tuple[bytes, tuple[str, ...]]] = []
    text, keys = b"", dict[str, None]()
    for record in records:
        encoded = record.text.encode()
        if text and len(text) + len(encoded) > limit:
            bodies.append((text, tuple(keys)))
            text, keys = b"", {}
        text += encoded
        keys.update(dict.fromkeys(record.keys))
    if text:
        bodies.append((text, tuple(keys)))
    return bodies


def _record(keys: tuple[str, ...], *fields: object) -> Record:
    return Record(FIELD_END.join(map(str, fields)) + RECORD_END, tuple(filter(None, keys)))


def _truth(value: bool) -> str:
    return "true" if value else "false"
