"""Rates over the last minute, hour and day, from samples of the engine's totals."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tailfin.wire.bodies.stats import BrokerStatsData, BrokerStatsItem

SAMPLE_S = 10.0
MINUTE_SAMPLES = 7
HOUR_SAMPLES = 7
HOUR_EVERY_S = 600.0
DAY_SAMPLES = 25
DAY_EVERY_S = 3600.0
RECENT_SAMPLES = 61


def over(samples: "deque[tuple[float, int]]") -> BrokerStatsItem:
    """Return how much happened between the first and the last sample, and how much a second."""
    if len(samples) < 2:
        return BrokerStatsItem()
    (begin, first), (end, last) = samples[0], samples[-1]
    return BrokerStatsItem(sum=last - first, tps=(last - first) / (end - begin) if end > begin else 0.0)


@dataclass(slots=True)
class History:
    """Samples of one counter: 10 s apart for the minute, 10 min for the hour, 1 h for the day."""

    minute: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=MINUTE_SAMPLES))
    hour: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=HOUR_SAMPLES))
    day: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=DAY_SAMPLES))

    def add(self, now: float, total: int, began: float, first: int = 0) -> None:
        """Take a sample; a counter seen for the first time stood at `first` when the sampling began."""
        for samples, every in ((self.minute, 0.0), (self.hour, HOUR_EVERY_S), (self.day, DAY_EVERY_S)):
            if not samples:
                samples.append((began, first))
            if now - samples[-1][0] >= every:
                samples.append((now, total))


class Stats:
    """Histories of every counter, by RocketMQ's name of the statistic and its key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._histories: dict[str, dict[str, History]] = {}
        self._forgotten: dict[tuple[str, str], int] = {}
        """Totals that counters of deleted topics and groups had: the engine counts on from there."""
        self._last_sample = clock()

    def sample(self, counters: Mapping[str, Mapping[str, int]]) -> None:
        """Take one sample of every counter."""
        now = self._clock()
        for name, totals in counters.items():
            histories = self._histories.setdefault(name, {})
            for key, total in totals.items():
                first = self._forgotten.get((name, key))
                if first == total:
                    continue
                if key not in histories:
                    histories[key] = History()
                histories[key].add(now, total, self._last_sample, first or 0)
                self._forgotten.pop((name, key), None)
        self._last_sample = now

    def rates(self, name: str, key: str) -> BrokerStatsData | None:
        """Return the rates over minute, hour and day; None for a statistic nobody counts."""
        history = self._histories.get(name, {}).get(key)
        if history is None:
            return None
        return BrokerStatsData(
            stats_minute=over(history.minute), stats_hour=over(history.hour), stats_day=over(history.day)
        )

    def per_second(self, name: str, key: str) -> float:
        """Return the rate over the last minute, 0 when there is none."""
        history = self._histories.get(name, {}).get(key)
        return over(history.minute).tps if history else 0.0

    def forget(
        self, counters: Mapping[str, Mapping[str, int]], *, topic: str | None = None, group: str | None = None
    ) -> None:
        """Drop the histories of a topic or a group that was deleted; what was counted so far is not told."""
        for name, totals in counters.items():
            for key, total in totals.items():
                parts = key.split("@")
                if topic in parts if topic else group in parts[1:]:
                    self._forgotten[name, key] = total
                    self._histories.get(name, {}).pop(key, None)


class Recent:
    """Totals of the last ten minutes, every 10 s: the three rates that `brokerStatus` shows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, dict[str, int]]] = deque(maxlen=RECENT_SAMPLES)

    def add(self, totals: dict[str, int]) -> None:
        """Take the totals of now."""
        self._samples.append((self._clock(), totals))

    def text(self, name: str) -> str:
        """Return the rates over 10 s, 1 min and 10 min, as RocketMQ prints them."""
        return " ".join(str(self._rate(name, samples)) for samples in (1, 6, 60))

    def _rate(self, name: str, samples: int) -> float:
        if len(self._samples) < 2:
            return 0.0
        begin, first = self._samples[-min(len(self._samples), samples + 1)]
        end, last = self._samples[-1]
        return (last.get(name, 0) - first.get(name, 0)) / (end - begin) if end > begin else 0.0


class Days:
    """Totals at the last two midnights."""

    def __init__(self) -> None:
        self.yesterday: dict[str, int] = {}
        self.today: dict[str, int] = {}
        self._day = time.localtime().tm_yday

    def turn(self, totals: dict[str, int]) -> None:
        """At a new day, keep the totals of its morning."""
        if (day := time.localtime().tm_yday) != self._day:
            self._day = day
            self.yesterday, self.today = self.today, dict(totals)
