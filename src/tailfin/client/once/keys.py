"""Where it is remembered which keys are done, and which someone is at."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Protocol

LEASE_S = 900.0
"""As long as a handler may take before its message is given to another one (`consume_timeout`)."""


class Claim(Enum):
    """What is known of a key when someone wants to begin with it."""

    YOURS = "yours"
    """Nobody has done it: whoever asked is at it now."""
    DONE = "done"
    BUSY = "busy"
    """Someone else is at it, and may yet fail."""


class Keys(Protocol):
    """A store of keys. Any class with these methods will do: one over Redis, or over your own database.

    Handlers run at the same time, in threads and in processes, so `claim` decides in one step.
    """

    waits: bool
    """Whether a call may take longer than a moment (disk, network); coroutines then leave it to a thread."""

    def claim(self, key: str) -> Claim:
        """Begin with a key, unless it is done or someone else is at it."""

    def done(self, key: str) -> None:
        """Remember that a claimed key is done."""

    def release(self, key: str) -> None:
        """Give a claimed key up: it was not done, and whoever asks next may begin with it."""


class MemoryKeys:
    """Keys in memory: for one process, and as long as it lives.

    Args:
        size: how many keys are remembered; beyond that the oldest are forgotten.
        lease: seconds after which a claim counts as given up.
        clock: seconds that only grow; tests have their own.

    Example:
        >>> keys = MemoryKeys(size=1_000_000)
    """

    waits = False

    def __init__(
        self, size: int = 100_000, *, lease: float = LEASE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if size < 1:
            raise ValueError(f"size is how many keys are remembered, at least 1, not {size}")
        if lease <= 0:
            raise ValueError(f"lease is a number of seconds above 0, not {lease}")
        self._size = size
        self._lease = lease
        self._clock = clock
        self._lock = threading.Lock()
        self._done: OrderedDict[str, None] = OrderedDict()
        self._claimed: dict[str, float] = {}
        """Those someone is at, with when the claim ends."""

    def claim(self, key: str) -> Claim:
        """Begin with a key, unless it is done or someone else is at it."""
        with self._lock:
            if key in self._done:
                self._done.move_to_end(key)
                return Claim.DONE
            now = self._clock()
            if self._claimed.get(key, now) > now:
                return Claim.BUSY
            self._claimed[key] = now + self._lease
            return Claim.YOURS

    def done(self, key: str) -> None:
        """Remember that a key is done, and forget the oldest if there are too many."""
        with self._lock:
            self._claimed.pop(key, None)
            self._done[key] = None
            if len(self._done) > self._size:
                self._done.popitem(last=False)

    def release(self, key: str) -> None:
        """Give a claimed key up."""
        with self._lock:
            self._claimed.pop(key, None)
