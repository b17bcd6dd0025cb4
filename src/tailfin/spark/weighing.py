"""How many rows have about so many bytes, by looking at a few of them. No I/O."""

from collections.abc import Callable, Mapping, Sequence

from tailfin.arrow.ranges import QueueRange
from tailfin.client.queues import Queue
from tailfin.spark.offsets import Offsets
from tailfin.spark.planning import admit, length

SAMPLE = 32
"""Messages of a queue that are looked at in one place."""

Sizes = Mapping[Queue, float]
"""About how large a message of each queue is; a queue that did not answer is not there."""

Look = Callable[[Offsets], Sizes]
"""Finds out how large the next messages are from an offset on, for each queue."""


def rows_for_bytes(waiting: Sequence[QueueRange], limit: int, look: Look) -> int:
    """Return how many rows have about so many bytes; one has room in any case.

    Brokers do not tell sizes. Messages are looked at where the batch begins and, since those behind may be
    larger, also where it would end by that.

    Args:
        waiting: what could be read.
        limit: the bytes.
        look: looks at messages.
    """
    begins = {part.queue: part.start for part in waiting}
    first = look(begins)
    rows = _rows(waiting, first, limit)
    last = look({queue: max(end - SAMPLE, begins[queue]) for queue, end in admit(waiting, rows).items()})
    both = {queue: (first.get(queue, size) + size) / 2 for queue, size in last.items()}
    return min(rows, _rows(waiting, {**first, **both}, limit))


def _rows(waiting: Sequence[QueueRange], sizes: Sizes, limit: int) -> int:
    # Messages of a queue that did not answer count as the largest known; if none did, as a batch each.
    unknown = max(sizes.values(), default=float(limit))
    count = sum(map(length, waiting))
    total = sum(length(part) * sizes.get(part.queue, unknown) for part in waiting)
    return count if total <= limit else max(1, int(count * limit / total))
