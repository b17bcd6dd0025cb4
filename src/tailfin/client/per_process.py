"""What a process makes once and keeps: connections cannot be shared with a forked child."""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class PerProcess(Generic[K, V]):
    """Things by key, each made at its first use; a forked child makes its own.

    Example:
        ```python
        clusters: PerProcess[str, Cluster] = PerProcess()
        clusters.get("127.0.0.1:9876", lambda: Cluster("127.0.0.1:9876"))
        ```
    """

    def __init__(self) -> None:
        self._made: dict[K, V] = {}
        self._elders: list[dict[K, V]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return this process's thing of a key."""
        self._look_at_process()
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def take_all(self) -> list[V]:
        """Return what this process has made, and forget it."""
        self._look_at_process()
        with self._lock:
            taken, self._made = list(self._made.values()), {}
            return taken

    def _look_at_process(self) -> None:
        if self._process != os.getpid():
            # Kept, since what nobody holds any more would be closed. And nobody in a child could give back a
            # lock that another thread of its parent held.
            self._elders.append(self._made)
            self._made = {}
            self._lock = threading.Lock()
            self._process = os.getpid()
