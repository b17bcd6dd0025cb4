"""How far a group is, and what a reset changes. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tailfin.client.queues import Queue
from tailfin.wire.bodies.stats import ConsumeStats


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a group is in a queue.

    Attributes:
        queue: the queue.
        offset: the next message the group has not consumed.
        pull_offset: the next message no member has pulled yet.
        max_offset: offset that the next message will get.
        last_store_timestamp: when the last consumed message was stored, in milliseconds since the epoch;
            None when there is none.
        client_id: who reads it; None when nobody does, or when that was not asked for.
    """

    queue: Queue
    offset: int
    pull_offset: int
    max_offset: int
    last_store_timestamp: int | None
    client_id: str | None = None

    @property
    def lag(self) -> int:
        """Messages that are not consumed."""
        return self.max_offset - self.offset

    @property
    def in_flight(self) -> int:
        """Messages that members hold and have not consumed."""
        return self.pull_offset - self.offset


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group is.

    Attributes:
        group: its name.
        queues: its queues, in order.
        consume_tps: messages read a second over the last minute.
    """

    group: str
    queues: tuple[QueueProgress, ...]
    consume_tps: float

    @property
    def lag(self) -> int:
        """Messages that are not consumed, in all queues."""
        return sum(each.lag for each in self.queues)

    @property
    def in_flight(self) -> int:
        """Messages that members hold and have not consumed, in all queues."""
        return sum(each.in_flight for each in self.queues)


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A group's offset in a queue, before and after.

    Attributes:
        queue: the queue.
        before: where the group was; None: it had no offset.
        after: where it is now, or would be.
        min_offset: offset of the first message that is still stored.
        max_offset: offset that the next message will get.
    """

    queue: Queue
    before: int | None
    after: int
    min_offset: int
    max_offset: int


def progress(group: str, told: Iterable[ConsumeStats], owners: Mapping[Queue, str]) -> GroupProgress:
    """Put together what several brokers tell of a group's progress."""
    queues: list[QueueProgress] = []
    tps = 0.0
    for table in told:
        tps += table.consume_tps
        for body, ends in table.offset_table.items():
            queue = Queue.of_body(body)
            queues.append(
                QueueProgress(
                    queue,
                    offset=ends.consumer_offset,
                    # Brokers before 5.x do not tell how far members have pulled.
                    pull_offset=max(ends.pull_offset, ends.consumer_offset),
                    max_offset=ends.broker_offset,
                    last_store_timestamp=ends.last_timestamp or None,
                    client_id=owners.get(queue),
                )
            )
    return GroupProgress(group, tuple(sorted(queues, key=lambda each: each.queue)), tps)
