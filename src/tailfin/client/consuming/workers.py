"""Workers: threads that call functions, or tasks that await coroutines."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.handlers import RETRY, judged
from tailfin.client.consuming.reading import Reading

if TYPE_CHECKING:
    from tailfin.client.consuming.dispatching import Dispatcher, Failure

log = logging.getLogger("tailfin.client")


class ThreadWorkers:
    """Threads, made when there is something to do, up to a number. They never keep a process from ending."""

    def __init__(self, count: int, name: str, run: Callable[[Any], object]) -> None:
        self._count = count
        self._name = name
        self._run = run
        self.dispatcher: Dispatcher
        self._wanted = threading.Condition()
        self._calls = 0
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._stopped = False

    def wake(self) -> None:
        """Let one more work."""
        with self._wanted:
            self._calls += 1
            if self._idle:
                self._wanted.notify()
            elif len(self._threads) < self._count and not self._stopped:
                number = len(self._threads) + 1
                thread = threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True)
                self._threads.append(thread)
                thread.start()

    async def stop(self, timeout: float) -> int:
        """Wait for handlers that run."""
        with self._wanted:
            self._stopped = True
            self._wanted.notify_all()
        deadline = time.monotonic() + timeout
        return await asyncio.to_thread(self._join, deadline)

    def _join(self, deadline: float) -> int:
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        return sum(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while True:
            seen = self._calls
            found = self.dispatcher.next()
            if found is not None:
                self._portion(*found)
                continue
            with self._wanted:
                if self._stopped:
                    return
                if seen == self._calls:
                    self._idle += 1
                    self._wanted.wait()
                    self._idle -= 1

    def _portion(self, reading: Reading, portion: Portion) -> None:
        dispatcher = self.dispatcher
        failures: list[Failure] = portion.failures
        following = calls_of(portion, dispatcher.batch_size)
        calls, begun = 0, portion.started
        now = begun
        while not dispatcher.stopping or not calls or dispatcher.was_overtaken(reading, portion):
            try:
                given = following()
            except IndexError:
                break
            calls += 1
            error: BaseException | None = None
            try:
                outcome = self._run(given)
                retry = None if outcome is None else judged(outcome)
            except BaseException as raised:  # even SystemExit: it would end this thread and nothing else
                retry, error = RETRY, raised
            portion.started = now = time.monotonic()
            if retry is not None:
                failures.append((given if isinstance(given, list) else [given], retry, error))
                if dispatcher.orderly:
                    break
        dispatcher.measured(now - begun, calls)
        dispatcher.finished(reading, portion)


class TaskWorkers:
    """Tasks of the event loop, up to a number."""

    def __init__(self, count: int, name: str, run: Callable[[Any], Awaitable[object]]) -> None:
        self._count = count
        self._name = name
        self._run = run
        self.dispatcher: Dispatcher
        self._loop = asyncio.get_running_loop()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._calls = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False

    def wake(self) -> None:
        """Let one more work."""
        self._calls += 1
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return
        if len(self._tasks) < self._count and not self._stopped:
            name = f"{self._name}-{len(self._tasks) + 1}"
            self._tasks.append(self._loop.create_task(self._work(), name=name))

    async def stop(self, timeout: float) -> int:
        """Wait for handlers that run; those that do not end are cancelled."""
        self._stopped = True
        for idle in self._idle:
            if not idle.done():
                idle.set_result(None)
        if not self._tasks:
            return 0
        _, running = await asyncio.wait(self._tasks, timeout=timeout)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return len(running)

    async def _work(self) -> None:
        while not self._stopped:
            seen = self._calls
            found = self.dispatcher.next()
            if found is not None:
                await self._portion(*found)
                # A handler that never waits would otherwise keep everything else from running.
                await asyncio.sleep(0)
            elif seen == self._calls:
                idle = self._loop.create_future()
                self._idle.append(idle)
                await idle

    async def _portion(self, reading: Reading, portion: Portion) -> None:
        dispatcher = self.dispatcher
        failures: list[Failure] = portion.failures
        following = calls_of(portion, dispatcher.batch_size)
        calls, begun = 0, portion.started
        now = begun
        while not dispatcher.stopping or not calls or dispatcher.was_overtaken(reading, portion):
            try:
                given = following()
            except IndexError:
                break
            calls += 1
            error: BaseException | None = None
            try:
                outcome = await self._run(given)
                retry = None if outcome is None else judged(outcome)
            except asyncio.CancelledError as raised:
                if self._stopped:
                    raise
                # Something within the handler was cancelled, not this worker.
                retry, error = RETRY, raised
            except Exception as raised:
                retry, error = RETRY, raised
            portion.started = now = time.monotonic()
            if retry is not None:
                failures.append((given if isinstance(given, list) else [given], retry, error))
                if dispatcher.orderly:
                    break
        dispatcher.measured(now - begun, calls)
        dispatcher.finished(reading, portion)


def calls_of(portion: Portion, batch_size: int) -> Callable[[], Any]:
    """Return what gives each call of a handler its messages, one or a list; IndexError: nothing is left."""
    take = portion.todo.popleft
    if batch_size == 1:
        return take

    def batch() -> list[Any]:
        messages = [take()]
        with contextlib.suppress(IndexError):
            while len(messages) < batch_size:
                messages.append(take())
        return messages

    return batch
