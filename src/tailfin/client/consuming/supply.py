"""Messages of a lite pull consumer: they wait until they are asked for, and count as consumed after that."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Iterator

from tailfin._engine import ReceivedMessage
from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.reading import Reading
from tailfin.client.errors import ClientError
from tailfin.client.queues import Queue


class Supply:
    """The queues that have messages, in line, and what of them was given out since the last settlement."""

    def __init__(self) -> None:
        self.consumed = 0
        self._ready = asyncio.Event()
        self._line: deque[Reading] = deque()
        self._paused: set[Queue] = set()
        self._given: list[tuple[Reading, Portion]] = []
        self._is_asked = False

    def open(self) -> None:
        """Begin, in the event loop that runs now."""
        self._ready = asyncio.Event()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second one who asks: what the first one was given would count as consumed."""
        if self._is_asked:
            raise ClientError(
                "somebody polls this consumer already, and each poll counts what the last one returned as "
                "consumed: give each thread or task a consumer of its own, they share the group's queues"
            )
        self._is_asked = True
        try:
            yield
        finally:
            self._is_asked = False

    def offer(self, reading: Reading) -> None:
        """Put a queue that has messages in line."""
        if not reading.in_line:
            reading.in_line = True
            self._line.append(reading)
        self.wake()

    def pause(self, queues: Iterable[Queue]) -> None:
        """Give out nothing of these queues for now."""
        self._paused.update(queues)

    def resume(self, queues: Iterable[Queue]) -> None:
        """Give out messages of these queues again, once they are offered."""
        self._paused.difference_update(queues)

    def take(self, limit: int) -> Portion | None:
        """Give out messages of the queue whose turn it is; None: there are none."""
        while self._line:
            reading = self._line.popleft()
            reading.in_line = False
            if reading.queue in self._paused:
                continue
            with reading.guard:
                portion = reading.take(limit)
                more = reading.has_messages
            if portion is None:
                continue
            self._given.append((reading, portion))
            if more:
                self.offer(reading)
            return portion
        return None

    def take_some(self, limit: int) -> list[ReceivedMessage]:
        """Give out messages of any queues."""
        messages: list[ReceivedMessage] = []
        while len(messages) < limit and (portion := self.take(limit - len(messages))) is not None:
            messages += portion.show_all()
        return messages

    def take_back(self) -> None:
        """Have all that was given out come again: something failed, or was cancelled."""
        for _, portion in self._given:
            portion.take_back()

    def settle(self) -> None:
        """Count what was given out as consumed, but for what an iteration did not come to."""
        given, self._given = self._given, []
        for reading, portion in given:
            with reading.guard:
                unread = list(portion.todo)
                portion.todo.clear()
                reading.cached.give_back(portion, unread)
                left = reading.cached.settle(portion, [])
            self.consumed += len(left)
            reading.worked(left)
            if unread:
                self.offer(reading)

    def wake(self) -> None:
        """Let whoever waits look again."""
        self._ready.set()

    async def wait(self, seconds: float | None) -> bool:
        """Wait for news; return False when the time is over first."""
        self._ready.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True
