"""Which queue a message goes to. No I/O, no clock."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

from tailfin.client.queues import Queue
from tailfin.message import java_hash

LATENCY_STEPS_MS = (50, 100, 550, 1800, 3000, 5000, 15000)
AWAY_MS = (0, 0, 2000, 5000, 6000, 10000, 30000)
FAILURE_COUNTS_AS_MS = 10000


class Turns:
    """Takes queues in turn, from a random one on, so that producers that start together spread."""

    def __init__(self, start: int | None = None) -> None:
        self._counter = itertools.count(random.getrandbits(31) if start is None else start)

    def next(
        self,
        queues: Sequence[Queue],
        *,
        last_broker: str | None = None,
        avoided: Callable[[str], bool] = lambda broker: False,
    ) -> Queue:
        """Return the next queue.

        Not one of the broker that failed last, nor of an avoided one, as long as there are others.
        """
        turn = next(self._counter)
        first = queues[turn % len(queues)]
        if first.broker != last_broker and not avoided(first.broker):
            return first
        in_turn = [queues[(turn + step) % len(queues)] for step in range(len(queues))]
        others = [each for each in in_turn if each.broker != last_broker] or in_turn
        return next((each for each in others if not avoided(each.broker)), others[0])


def by_key(queues: Sequence[Queue], key: str) -> Queue:
    """Return the queue of a sharding key: the one that Java's producers choose for it.

    Example:
        >>> by_key([Queue("T", "a", 0), Queue("T", "a", 1)], "a").queue_id
        1
    """
    return queues[abs(java_hash(key)) % len(queues)]


class FaultTable:
    """Brokers to leave alone for a while: the longer one took to answer, the longer.

    Args:
        steps_ms: how long an answer took.
        away_ms: for how long a broker that took at least so long is left alone.
    """

    def __init__(self, steps_ms: Sequence[int] = LATENCY_STEPS_MS, away_ms: Sequence[int] = AWAY_MS) -> None:
        self._steps = tuple(zip(steps_ms, away_ms, strict=True))
        self._away_until: dict[str, float] = {}

    def note(self, broker: str, latency_ms: float, now_ms: float) -> None:
        """Note how long a broker took."""
        self._away_until[broker] = now_ms + self.away_for(latency_ms)

    def note_failure(self, broker: str, now_ms: float) -> None:
        """Note that a broker did not answer."""
        self.note(broker, FAILURE_COUNTS_AS_MS, now_ms)

    def away_for(self, latency_ms: float) -> int:
        """Return for how long a broker with such a latency is left alone."""
        return next((away for step, away in reversed(self._steps) if latency_ms >= step), 0)

    def is_away(self, broker: str, now_ms: float) -> bool:
        """Whether a broker is to be left alone now."""
        return now_ms < self._away_until.get(broker, 0.0)

    def snapshot(self, now_ms: float) -> Mapping[str, float]:
        """Return the brokers left alone, each with the milliseconds that are left."""
        return {name: until - now_ms for name, until in tuple(self._away_until.items()) if until > now_ms}
