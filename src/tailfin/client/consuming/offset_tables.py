"""Offsets that a consumer has reached, and which of them are still to be told. No I/O."""

from collections.abc import Mapping

from tailfin.client.queues import Queue


class OffsetTable:
    """Offsets by queue; they grow, except where they are set."""

    def __init__(self) -> None:
        self._offsets: dict[Queue, int] = {}
        self._told: dict[Queue, int] = {}

    def __getitem__(self, queue: Queue) -> int | None:
        return self._offsets.get(queue)

    def advance(self, queue: Queue, offset: int) -> None:
        """Note progress; a smaller offset than the known one is ignored."""
        if offset > self._offsets.get(queue, -1):
            self._offsets[queue] = offset

    def put(self, queue: Queue, offset: int) -> None:
        """Set an offset, forwards or backwards."""
        self._offsets[queue] = offset

    def forget(self, queue: Queue) -> None:
        """Drop a queue, which another consumer reads now."""
        self._offsets.pop(queue, None)
        self._told.pop(queue, None)

    def everything(self) -> dict[Queue, int]:
        """Return all offsets, told or not."""
        return dict(self._offsets)

    def untold(self) -> dict[Queue, int]:
        """Return what changed since it was last told."""
        return {queue: offset for queue, offset in self._offsets.items() if self._told.get(queue) != offset}

    def told(self, offsets: Mapping[Queue, int]) -> None:
        """Note that these are stored now."""
        self._told.update((queue, offset) for queue, offset in offsets.items() if queue in self._offsets)
