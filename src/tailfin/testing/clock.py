"""A broker's clock that a test sets forward."""

import asyncio

from tailfin.broker.clock import Clock, machine_ms
from tailfin.testing.leaps import Leaps

A_BLINK_S = 0.001
DONE_WITHIN_S = 30.0


class FakeClock(Clock):
    """The time of a cluster's brokers: it goes on like the machine's, and by `advance` in one leap.

    By it brokers tell which delayed and timed messages, retries and transactions are due. Everything else
    stays real: timeouts, heartbeats, a client's own pauses, the times in stored messages.

    Example:
        >>> with cluster() as running:
        ...     producer.send(Message("reminders", b"pay 42", delay=3600))
        ...     running.clock.advance(3600)
        ...     # the reminder is delivered now
    """

    is_the_machines = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._leaps = Leaps()
        self._leap_over = asyncio.Event()

    def advance(self, seconds: float) -> None:
        """Set the clock forward; what becomes due by that is delivered at once.

        Only what waits already becomes due: see `Cluster.waiting`. What is sent later waits its full time.

        Args:
            seconds: how far; more than 0.
        """
        if seconds <= 0:
            raise ValueError(f"a clock can only be set forward, not by {seconds} s")
        if _running_loop() is self._loop:
            raise RuntimeError("advance is for the test's own thread: it would wait for itself here")
        leap = self._leap(round(seconds * 1000))
        asyncio.run_coroutine_threadsafe(leap, self._loop).result(DONE_WITHIN_S)

    async def _leap(self, by: int) -> None:
        at = machine_ms()
        self._leaps.add(at, by)
        # What is stored from now on is told from what was there by its millisecond.
        while machine_ms() <= at:
            await asyncio.sleep(A_BLINK_S)
        sleepers, self._leap_over = self._leap_over, asyncio.Event()
        sleepers.set()

    def now_ms(self) -> int:
        """Return the brokers' time, in milliseconds since 1970."""
        return machine_ms() + self._leaps.ahead

    def at_ms(self, machine: int) -> int:
        """Return what this clock showed at a time of the machine's."""
        return self._leaps.shown_at(machine)

    def machine_at_ms(self, shown: int) -> int:
        """Return the last time of the machine's at which this clock showed no more than `shown`."""
        return self._leaps.machine_at(shown)

    async def sleep(self, seconds: float) -> None:
        """Sleep until this clock has gone on by so many seconds."""
        until = self.now_ms() + seconds * 1000
        while (left := (until - self.now_ms()) / 1000) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._leap_over.wait()
            except TimeoutError:
                return
        await asyncio.sleep(0)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
