"""Figures of a consumer."""

from dataclasses import dataclass, field

from tailfin.client.queues import Queue


@dataclass(frozen=True, slots=True)
class QueueStats:
    """One queue that a consumer reads.

    Attributes:
        committed: everything before this offset is done.
        read_to: everything before this offset has arrived here.
        cached: messages that wait, or are with the handler.
        full: nothing more is pulled for now, since as much is held as may be.
    """

    committed: int
    read_to: int
    cached: int
    full: bool = False


@dataclass(frozen=True, slots=True)
class ConsumerStats:
    """What a consumer did since its start.

    Attributes:
        consumed: messages that were consumed.
        failed: how often messages were not consumed.
        handed_back: messages that come again by way of a broker.
        skipped: failed messages of a broadcasting consumer, which come to it no more.
        running: calls of the handler that are under way; portions, if a handler is fast.
        queues: the queues it reads now.
    """

    consumed: int = 0
    failed: int = 0
    handed_back: int = 0
    skipped: int = 0
    running: int = 0
    queues: dict[Queue, QueueStats] = field(default_factory=dict)
