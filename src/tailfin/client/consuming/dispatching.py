"""Which messages a worker gets next, and what becomes of them afterwards."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tailfin._engine import ReceivedMessage
from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.handlers import Retry
from tailfin.client.consuming.reading import Reading

PORTION_MAX = 64
PORTION_TARGET_S = 0.005
TAKEN_AWAY_AFTER_S = 0.05
FAST_CALL_S = 0.00005
RECENT_PORTIONS = 8

Failure = tuple[list[ReceivedMessage], Retry, BaseException | None]
"""Messages that one call of the handler did not consume, and why."""


class Dispatcher:
    """Hands messages to workers, in portions that take a few milliseconds.

    A fast handler's portions are large, so that a message costs little besides its handler. A slow one gets
    each call's messages alone. When one call turns out to be slow, others get the rest of its portion.

    Args:
        guard: the lock over all that is cached; workers may be threads.
        orderly: one portion of a queue at a time.
        batch_size: messages of one call of the handler.
        wake: called, outside the lock, when there is something for one more worker.
        failed: called on the worker's side with what it could not consume.
    """

    def __init__(
        self,
        guard: threading.Lock,
        *,
        orderly: bool,
        batch_size: int,
        wake: Callable[[], None],
        failed: Callable[[Reading, Portion, list[Failure]], None],
    ) -> None:
        self.guard = guard
        self.batch_size = batch_size
        self.orderly = orderly
        self.stopping = False
        self.paused = False
        self.consumed = 0
        self.failures = 0
        self._wake = wake
        self._failed = failed
        self._line: deque[Reading] = deque()
        self._running: dict[Portion, Reading] = {}
        self._recent_s: deque[float] = deque([PORTION_TARGET_S], maxlen=RECENT_PORTIONS)
        self._call_s = PORTION_TARGET_S

    def offer(self, reading: Reading) -> None:
        """Hear that a queue has messages, or may go on."""
        with self.guard:
            more = self._enqueue(reading) and not self._enough_workers()
        if more:
            self._wake()

    def next(self) -> tuple[Reading, Portion] | None:
        """Return what to do next; None: nothing, or not now."""
        with self.guard:
            found = self._next()
            more = found is not None and bool(self._line) and not self._enough_workers()
        if more:
            self._wake()
        return found

    def finished(self, reading: Reading, portion: Portion) -> None:
        """Hear that a worker is through with a portion, or stopped before its end."""
        failures: list[Failure] = []
        failed: list[ReceivedMessage] = []
        left: list[ReceivedMessage] = []
        with self.guard:
            overdue = self._running.pop(portion, None) is None
            # Another consumer may have the queue, or the call took too long: its outcome no longer counts.
            if not overdue and reading.cached.has(portion):
                failures = portion.failures
                failed = failed_messages(portion)
                if self.orderly:
                    # Those behind a failed message wait with it.
                    reading.suspended = reading.suspended or bool(failures)
                reading.cached.give_back(portion, self._unread(portion))
                left = reading.cached.settle(portion, failed)
            self.consumed += len(left)
            self.failures += len(failed)
            more = self._enqueue(reading)
        reading.worked(left)
        if failures:
            self._failed(reading, portion, failures)
        if more:
            self._wake()

    def was_overtaken(self, reading: Reading, portion: Portion) -> bool:
        """Whether a consumer that stops has to finish a portion, or others would come again."""
        with self.guard:
            return reading.cached.was_overtaken(portion)

    def measured(self, seconds: float, calls: int) -> None:
        """Note how long a handler takes; any thread may call it.

        The shortest of late counts: threads that wait for their turn in Python make others look slow.
        """
        if calls:
            self._recent_s.append(seconds / calls)
            self._call_s = min(tuple(self._recent_s))

    def pause(self) -> None:
        """Hand out nothing for now."""
        self.paused = True

    def resume(self) -> None:
        """Hand out again."""
        self.paused = False
        self._wake()

    def take_away(self, now: float) -> None:
        """Let others have what waits behind a call that takes long."""
        with self.guard:
            slow = [
                (portion, reading)
                for portion, reading in self._running.items()
                if portion.todo and now - portion.started > TAKEN_AWAY_AFTER_S
            ]
            for portion, reading in slow:
                reading.cached.give_back(portion, self._unread(portion))
                self._enqueue(reading)
            if slow:
                self._recent_s.clear()
                self._recent_s.append(TAKEN_AWAY_AFTER_S)
                self._call_s = TAKEN_AWAY_AFTER_S
            wanted = max(len(slow), 1) if self._line else 0
        for _ in range(wanted):
            self._wake()

    def give_up_overdue(self, now: float, limit: float) -> list[tuple[Reading, Portion]]:
        """Return portions whose call of the handler has taken too long, with what is not consumed of them.

        Those are that call's messages and what failed before. What the call comes to no longer counts.
        """
        found = []
        with self.guard:
            for portion, reading in list(self._running.items()):
                if now - portion.started <= limit or not reading.cached.has(portion):
                    continue
                del self._running[portion]
                reading.cached.give_back(portion, self._unread(portion))
                call = (len(portion.messages) - 1) % self.batch_size + 1
                given = portion.messages[-call:]
                earlier = [each for each in failed_messages(portion) if each not in given]
                left = reading.cached.settle(portion, earlier + given)
                self._enqueue(reading)
                found.append((reading, portion, left))
        for reading, _, left in found:
            reading.worked(left)
        return [(reading, portion) for reading, portion, _ in found]

    @property
    def running(self) -> int:
        """How many workers have something."""
        return len(self._running)

    @staticmethod
    def _unread(portion: Portion) -> list[Any]:
        """Take away what the worker has not begun; it may be taking the next one at this moment."""
        behind: list[Any] = []
        with contextlib.suppress(IndexError):
            while True:
                behind.append(portion.todo.pop())
        behind.reverse()
        return behind

    def _enqueue(self, reading: Reading) -> bool:
        cached = reading.cached
        if reading.in_line or reading.suspended or cached.dropped or not reading.has_messages:
            return False
        if self.orderly and cached.busy:
            return False
        reading.in_line = True
        self._line.append(reading)
        return True

    def _next(self) -> tuple[Reading, Portion] | None:
        if self.stopping or self.paused:
            return None
        now = time.monotonic()
        while self._line:
            reading = self._line.popleft()
            reading.in_line = False
            if reading.suspended or reading.locked_until < now or (self.orderly and reading.cached.busy):
                continue
            portion = reading.take(self._limit())
            if portion is None:
                continue
            portion.started = now
            self._running[portion] = reading
            if not self.orderly:
                self._enqueue(reading)
            return reading, portion
        return None

    def _enough_workers(self) -> bool:
        """Whether more workers would only be in each other's way: threads take turns in Python."""
        return bool(self._running) and self._call_s < FAST_CALL_S

    def _limit(self) -> int:
        calls = int(PORTION_TARGET_S / max(self._call_s, 1e-6))
        return self.batch_size * max(1, min(calls, PORTION_MAX // self.batch_size))


def failed_messages(portion: Portion) -> list[ReceivedMessage]:
    """Return what calls of the handler did not consume of a portion, in order."""
    return [message for messages, _, _ in portion.failures for message in messages]
