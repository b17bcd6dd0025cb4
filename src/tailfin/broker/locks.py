"""Which member of a group may consume a queue in order: locks that their owner renews or loses."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tailfin.wire.bodies.common import MessageQueue

LOCK_LIVES_S = 60.0


@dataclass(slots=True)
class Lock:
    """Who holds a queue, and since when without a word."""

    client_id: str
    renewed: float


class QueueLocks:
    """The lock table: group, then queue."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._groups: dict[str, dict[MessageQueue, Lock]] = defaultdict(dict)

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Lock what is free, expired or the client's own; return what the client now holds."""
        table, now = self._groups[group], self._clock()
        held: list[MessageQueue] = []
        for queue in queues:
            lock = table.get(queue)
            if lock is None or lock.client_id == client_id or now - lock.renewed > LOCK_LIVES_S:
                table[queue] = Lock(client_id, now)
                held.append(queue)
        return held

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Give up the client's own locks; others stay."""
        table = self._groups.get(group, {})
        for queue in queues:
            if (lock := table.get(queue)) and lock.client_id == client_id:
                del table[queue]
        if not table:
            self._groups.pop(group, None)

    def any_held(self, group: str) -> bool:
        """Whether a member of the group holds a lock that has not expired."""
        now = self._clock()
        return any(now - lock.renewed <= LOCK_LIVES_S for lock in self._groups.get(group, {}).values())

    def forget(self) -> None:
        """Drop what expired long ago, so that groups which are gone take no memory."""
        limit = self._clock() - 10 * LOCK_LIVES_S
        for group, table in list(self._groups.items()):
            for queue in [queue for queue, lock in table.items() if lock.renewed < limit]:
                del table[queue]
            if not table:
                del self._groups[group]
