"""One queue that a consumer reads, between the engine's reader and the workers."""

import asyncio
import operator
import threading
from collections.abc import Callable

from tailfin._engine import ReceivedMessage
from tailfin.client.consuming.cached import CachedQueue, Portion
from tailfin.client.consuming.pulling import QueueReader
from tailfin.client.queues import Queue

Keep = Callable[[ReceivedMessage], bool]

_size = operator.attrgetter("size")


class Reading:
    """One queue that is read. What is cached is shared with workers: hold `guard` to touch it.

    Args:
        queue: which one.
        offset: where it is read from.
        guard: the lock over everything that is cached.
        span_max: how far messages held may be apart; None: any distance.
        keep: says which messages are wanted at all; None: every one.
    """

    def __init__(
        self,
        queue: Queue,
        offset: int,
        guard: threading.Lock,
        span_max: int | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._keep = keep
        self.queue = queue
        self._span_max = span_max
        self._held_back = False
        self.guard = guard
        self.cached = CachedQueue(offset)
        self.reader: QueueReader | None = None
        self.locked_until = float("inf")
        self.in_line = False
        self.suspended = False
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Event | None = None

    @property
    def has_messages(self) -> bool:
        """Whether there is something to hand out; with the guard held."""
        return bool(self.cached.waiting) or (self.reader is not None and self.reader.ready > 0)

    def take(self, limit: int) -> Portion | None:
        """Hand out the next messages; with the guard held.

        Workers come straight to the engine's reader this way, without the event loop in between.
        """
        # Hooks may leave out all that is taken at once, and nobody comes back for what is behind it.
        while not self.cached.waiting and self.reader is not None and (messages := self.reader.take()):
            # What follows the last one may have been left out by the filter; `note_read` comes to it.
            self._add(self._wanted(self.reader, messages), messages[-1].queue_offset + 1)
        return self.cached.take(limit)

    def note_read(self) -> None:
        """Note how far the queue is read, though nothing there was wanted; with the guard held."""
        read_to = self.reader.read_to if self.reader is not None else None
        if read_to is not None:
            self._add([], read_to)

    def _add(self, messages: list[ReceivedMessage], read_to: int) -> None:
        self.cached.add(messages, read_to)
        self._hold_back()

    def worked(self, left: list[ReceivedMessage]) -> None:
        """Hear that messages are done; any thread may call it."""
        reader = self.reader
        if reader is not None and left:
            reader.release(len(left), sum(map(_size, left)))
            if self._held_back:
                with self.guard:
                    self._hold_back()
        if self._idle is not None:
            self._loop.call_soon_threadsafe(self._idle.set)

    async def idle(self) -> None:
        """Wait until no worker has anything of the queue."""
        while True:
            self._idle = asyncio.Event()
            with self.guard:
                if not self.cached.busy:
                    return
            await self._idle.wait()

    def _wanted(self, reader: QueueReader, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
        if self._keep is None:
            return messages
        kept: list[ReceivedMessage] = []
        left: list[ReceivedMessage] = []
        for message in messages:
            (kept if self._keep(message) else left).append(message)
        reader.release(len(left), sum(map(_size, left)))
        return kept

    def _hold_back(self) -> None:
        """Pull no more while what is held is too far apart."""
        too_far = self._span_max is not None and self.cached.span > self._span_max
        if self.reader is None or too_far == self._held_back:
            return
        self._held_back = too_far
        if too_far:
            self.reader.pause()
        else:
            self.reader.resume()
