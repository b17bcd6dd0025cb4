"""Shares by consistent hashing: a member that comes or goes moves few queues."""

import bisect
import hashlib
from collections.abc import Callable, Sequence

from tailfin.client.queues import Queue


class ConsistentHash:
    """Members stand at several places of a ring; a queue belongs to the next place from its own.

    Args:
        places: how many places each member has.
        digest: where a text stands on the ring; members must agree on it.
    """

    name = "CONSISTENT_HASH"

    def __init__(self, places: int = 10, digest: Callable[[str], int] | None = None) -> None:
        if places < 1:
            raise ValueError(f"a member needs a place on the ring: places={places}")
        self._places = places
        self._digest = digest or _first_of_md5

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        ring = {self._digest(f"{each}-{place}"): each for each in members for place in range(self._places)}
        points = sorted(ring)
        return [queue for queue in queues if ring[self._next(points, queue)] == member]

    def _next(self, points: list[int], queue: Queue) -> int:
        text = f"MessageQueue [topic={queue.topic}, brokerName={queue.broker}, queueId={queue.queue_id}]"
        return points[bisect.bisect_left(points, self._digest(text)) % len(points)]


def _first_of_md5(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:4], "big")
