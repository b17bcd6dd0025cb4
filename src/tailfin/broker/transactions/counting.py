"""How many transactions are open by topic, kept in the file `transactionMetrics`.

The figures come from the log at each start, so that a kill does not make them drift.
"""

import logging
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tailfin.broker.config_file import ConfigFile, ConfigFileDamaged, first_version, following
from tailfin.wire.bodies.transactions import TransactionCount, TransactionMetrics

if TYPE_CHECKING:
    from tailfin.remoting import HotPath

log = logging.getLogger("tailfin.broker")

PREPARED_BY_THE_ENGINE = "HALF_PUT_NUMS"


class OpenCounts:
    """Open transactions by topic."""

    def __init__(self, folder: Path, hot: "HotPath") -> None:
        self._hot = hot
        self._file = ConfigFile(folder / "transactionMetrics", TransactionMetrics)
        self._version = first_version()
        self._changes: Counter[str] = Counter()
        self._persisted: dict[str, int] = {}
        self._moments: dict[str, int] = {}

    def load(self, open_now: Counter[str]) -> None:
        """Begin with what the log says is open."""
        try:
            content = self._file.read()
        except ConfigFileDamaged as damage:
            # Nothing is lost with it.
            log.warning("%s; it is written anew", damage)
            content = None
        if content:
            self._version = content.data_version or self._version
            self._moments = {topic: each.time_stamp for topic, each in content.transaction_count.items()}
            self._persisted = {topic: each.count for topic, each in content.transaction_count.items()}
        self._changes = Counter(open_now)

    def prepared(self, topic: str | None) -> None:
        """Count a transaction that the engine did not see begin."""
        self._changes[topic or ""] += 1

    def ended(self, topic: str | None) -> None:
        """Count the end of a transaction."""
        self._changes[topic or ""] -= 1

    def counts(self) -> dict[str, int]:
        """Return how many are open, for each topic that has or had any."""
        counts = Counter(self._changes)
        counts.update(self._hot.counters().get(PREPARED_BY_THE_ENGINE, {}))
        topics = counts.keys() | self._moments.keys()
        return {topic: counts[topic] for topic in sorted(topics) if topic}

    def persist_if_changed(self) -> None:
        """Write the file when something began or ended since the last time."""
        counts = self.counts()
        if counts == self._persisted:
            return
        now = time.time_ns() // 1_000_000
        for topic, count in counts.items():
            if count != self._persisted.get(topic):
                self._moments[topic] = now
        self._version = following(self._version)
        table = {
            topic: TransactionCount(count=count, time_stamp=self._moments.get(topic, now))
            for topic, count in counts.items()
        }
        self._file.write(TransactionMetrics(transaction_count=table, data_version=self._version))
        self._persisted = counts
