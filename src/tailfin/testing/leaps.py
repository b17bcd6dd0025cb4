"""The arithmetic of a clock that leaps ahead of the machine's: pure, in milliseconds."""

from bisect import bisect_left


class Leaps:
    """When a clock was set forward, and by how much."""

    def __init__(self) -> None:
        self._at: list[int] = []
        """The machine's time of each leap."""
        self._ahead = [0]
        """How far the clock is ahead before the first leap, after it, and so on."""

    @property
    def ahead(self) -> int:
        """How far the clock is ahead now."""
        return self._ahead[-1]

    def add(self, machine: int, by: int) -> None:
        """Leap at a time of the machine's, which is no earlier than that of the last leap."""
        self._at.append(machine)
        self._ahead.append(self.ahead + by)

    def shown_at(self, machine: int) -> int:
        """Return what the clock showed at a time of the machine's; at the very time of a leap, before it."""
        return machine + self._ahead[bisect_left(self._at, machine)]

    def machine_at(self, shown: int) -> int:
        """Return the last time of the machine's at which the clock showed no more than `shown`."""
        for at, before, after in zip(self._at, self._ahead, self._ahead[1:], strict=False):
            if shown <= at + after:
                return min(shown - before, at)
        return shown - self.ahead
