"""What a batch reads: ranges of queues, cut into tasks. No I/O."""

import heapq
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tailfin.arrow.ranges import QueueRange
from tailfin.client.errors import DataLost
from tailfin.client.queues import Queue
from tailfin.spark.offsets import Offsets, Position, said
from tailfin.spark.places import Ends

log = logging.getLogger("tailfin.spark")


def length(part: QueueRange) -> int:
    """Return how many offsets a range has."""
    return max(part.end - part.start, 0)


def ranges(starts: Offsets, ends: Offsets) -> list[QueueRange]:
    """Return what is between two offsets of each queue, where there is something."""
    found = [QueueRange(*queue, starts[queue], ends[queue]) for queue in sorted(starts.keys() & ends.keys())]
    return [part for part in found if length(part)]


def between(start: Position, end: Position, there: Mapping[Queue, Ends]) -> list[QueueRange]:
    """Return what a micro-batch reads; a queue whose beginning nobody noted begins with what is there."""
    first = {queue: ends.first for queue, ends in there.items()}
    return ranges({**first, **start.offsets, **end.began}, end.offsets)


def still_there(wanted: Sequence[QueueRange], there: Mapping[Queue, Ends], *, fail: bool) -> list[QueueRange]:
    """Return what of some ranges the brokers still have; a queue they do not speak of is left as it is.

    Raises:
        DataLost: something is gone, and `fail` is set.
    """
    kept, lost = [], []
    for part in wanted:
        ends = there.get(part.queue)
        if ends is None:
            kept.append(part)
            continue
        rest = replace(part, start=max(part.start, ends.first), end=min(part.end, ends.end))
        if part.start < ends.first:
            lost.append(_gone(part.queue, part.start, min(ends.first, part.end)))
        if part.end > ends.end:
            lost.append(_gone(part.queue, max(part.start, ends.end), part.end))
        if length(rest):
            kept.append(rest)
    report(lost, fail=fail)
    return kept


def _gone(queue: Queue, start: int, end: int) -> str:
    return f"{start} to {end - 1} in {said(queue)}"


def report(lost: Sequence[str], *, fail: bool) -> None:
    """Raise DataLost, or only say what is lost."""
    if lost and fail:
        raise DataLost(
            "; ".join(lost), "they expired, or the topic was made anew; failOnDataLoss=false goes on"
        )
    if lost:
        log.warning("failOnDataLoss=false: going on without offsets that are gone: %s", "; ".join(lost))


def advance(start: Position, there: Mapping[Queue, Ends], rows: int | None, *, fail: bool) -> Position:
    """Return where the next micro-batch ends.

    A queue that is new begins with its first message. One that is not there now keeps its place. A stream
    that has only begun always gets a batch, though it may be empty: so its beginning is written down.

    Args:
        start: where it begins.
        there: the queues, and how far they go.
        rows: most offsets to read; None: all there are.
        fail: whether a queue that went back is an error.
    """
    began = {queue: ends.first for queue, ends in there.items() if queue not in start.offsets}
    known = {**start.offsets, **began}
    back = {queue: ends.end for queue, ends in there.items() if ends.end < known[queue]}
    report([_gone(queue, end, known[queue]) for queue, end in sorted(back.items())], fail=fail)
    # What expired is named by whoever plans the batch, and takes no part of its limit.
    gone = {queue: ends.first for queue, ends in there.items() if ends.first > known[queue]}
    waiting = [QueueRange(*queue, gone.get(queue, known[queue]), ends.end) for queue, ends in there.items()]
    admitted = admit([part for part in waiting if length(part)], rows)
    if start.initial:
        began = known
    elif not (began or admitted or back or gone):
        return start
    return Position({**known, **back, **gone, **admitted}, began)


def admit(waiting: Sequence[QueueRange], rows: int | None) -> dict[Queue, int]:
    """Return how far each queue is read when a micro-batch may have so many rows.

    Every queue gets its share by what waits in it, and at least one row while there are enough of them.
    """
    total = sum(map(length, waiting))
    if rows is None or total <= rows:
        return {part.queue: part.end for part in waiting}
    # Whoever gets nothing when there are more queues than rows is another one each time.
    turn = sum(part.start for part in waiting) % len(waiting)
    order = [*waiting[turn:], *waiting[:turn]]
    shares = {part.queue: int(index < rows) for index, part in enumerate(order)}
    left = rows - sum(shares.values())
    spare = total - sum(shares.values())
    if left and spare:
        exact = {part.queue: left * (length(part) - shares[part.queue]) / spare for part in order}
        for queue, share in exact.items():
            shares[queue] += int(share)
        rest = rows - sum(shares.values())
        for queue in sorted(exact, key=lambda queue: exact[queue] % 1, reverse=True)[:rest]:
            shares[queue] += 1
    return {part.queue: part.start + shares[part.queue] for part in waiting if shares[part.queue]}


def split(wanted: Iterable[QueueRange], *, least: int, longest: int) -> list[QueueRange]:
    """Cut ranges into tasks of nearly equal length.

    Args:
        wanted: what is read.
        least: how many tasks there shall be, if there are as many rows; 0: one for each part.
        longest: how many rows a task may have; 0: any number.
    """
    found = [part for part in wanted if length(part)]
    parts = [-(-length(part) // longest) if longest else 1 for part in found]
    heap = [(-length(part) / parts[index], index) for index, part in enumerate(found)]
    heapq.heapify(heap)
    missing = least - sum(parts)
    while heap and missing > 0:
        _, index = heapq.heappop(heap)
        if parts[index] < length(found[index]):
            parts[index] += 1
            missing -= 1
            heapq.heappush(heap, (-length(found[index]) / parts[index], index))
    return [piece for part, count in zip(found, parts, strict=True) for piece in _cut(part, count)]


def _cut(part: QueueRange, count: int) -> list[QueueRange]:
    edges = [part.start + length(part) * number // count for number in range(count + 1)]
    return [replace(part, start=start, end=end) for start, end in pairwise(edges)]
