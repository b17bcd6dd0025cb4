"""What time it is to the broker when it asks whether a message, a retry or a transaction is due.

Records carry the machine's time. In production that is the broker's time as well; `tailfin.testing` has a
clock that a test sets forward, so both directions between the two are asked of the clock alone.
"""

import asyncio
import time


def machine_ms() -> int:
    """Return the machine's time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Clock:
    """The machine's clock."""

    is_the_machines = True
    """Whether the engine, which reads the machine's clock, may reckon with times by itself."""

    def now_ms(self) -> int:
        """Return the broker's time, in milliseconds since 1970."""
        return machine_ms()

    def at_ms(self, machine: int) -> int:
        """Return what this clock showed at a time of the machine's."""
        return machine

    def machine_at_ms(self, shown: int) -> int:
        """Return the last time of the machine's at which this clock showed no more than `shown`."""
        return shown

    async def sleep(self, seconds: float) -> None:
        """Sleep until this clock has gone on by so many seconds."""
        await asyncio.sleep(seconds)
