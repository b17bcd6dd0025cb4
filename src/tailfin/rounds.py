"""Work that is done for many at once: everyone who asks before a round begins is served by it."""

import asyncio
from collections.abc import Awaitable, Callable


class Rounds:
    """Runs `work` once for all who asked since it began last; nobody waits for those who came later."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._now: asyncio.Future[None] | None = None
        self._next: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """Have a round begin after what has been done so far."""
        loop = asyncio.get_running_loop()
        if self._next is None:
            self._next = loop.create_future()
            # Nobody may be waiting for it.
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())

    async def done(self) -> None:
        """Wait for the last round asked for; what its work raised is raised here."""
        if waiting := self._next or self._now:
            await asyncio.shield(waiting)

    async def served(self) -> None:
        """Ask for a round, and wait for it."""
        self.ask()
        await self.done()

    def cancel(self) -> None:
        """Give up what is under way, and those who wait for it."""
        if self._task:
            self._task.cancel()
        for waiting in (self._now, self._next):
            if waiting:
                waiting.cancel()
        self._now = self._next = None

    async def _run(self) -> None:
        while self._next:
            current = self._now = self._next
            self._next = None
            try:
                await self._work()
            except Exception as error:
                current.set_exception(error)
            else:
                current.set_result(None)
            self._now = None
