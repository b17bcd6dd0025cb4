"""What a broker counts: the engine's counters, Python's own, and the samples that figures are made of."""

from collections import Counter
from typing import TYPE_CHECKING

from tailfin.broker.stats import Days, Recent, Stats
from tailfin.store import Appended

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

NO_SYSTEM_TOPICS = "_WITHOUT_SYSTEM_TOPIC"


class Counting:
    """A broker's counters.

    Attributes:
        stats: rates over the last minute, hour and day.
        recent: totals of the last seconds.
        days: totals of today and yesterday.
    """

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._of_python: Counter[tuple[str, str]] = Counter()
        self.stats, self.recent, self.days = Stats(), Recent(), Days()

    def count(self, name: str, key: str, by: int = 1) -> None:
        """Count something that the hot path does not see."""
        self._of_python[name, key] += by

    def count_put(self, topic: str, appended: Appended) -> None:
        """Count messages that Python stored, as the hot path counts its own."""
        self._count_stored(topic, appended.count, appended.size)

    def count_delivered(self, stored: list[tuple[str, int, int]]) -> None:
        """Count delayed messages that the engine stored where they belong."""
        for topic, messages, size in stored:
            self._count_stored(topic, messages, size)

    def counters(self) -> dict[str, dict[str, int]]:
        """Return every counter: the engine's, and Python's own."""
        counters = {name: dict(totals) for name, totals in self._broker.hot.counters().items()}
        for (name, key), total in self._of_python.items():
            of_name = counters.setdefault(name, {})
            of_name[key] = of_name.get(key, 0) + total
        is_system = self._broker.topics.is_system
        for name, source in (("BROKER_PUT_NUMS", "TOPIC_PUT_NUMS"), ("BROKER_GET_NUMS", "GROUP_GET_NUMS")):
            by_key = counters.get(source, {})
            of_users = sum(total for key, total in by_key.items() if not is_system(key.partition("@")[0]))
            counters[name + NO_SYSTEM_TOPICS] = {self._cluster: of_users}
        return counters

    def totals(self, counters: dict[str, dict[str, int]] | None = None) -> dict[str, int]:
        """Return the broker's totals: messages put and got, with and without system topics, bytes, reads."""
        counters = counters or self.counters()
        cluster = self._cluster
        return {
            "put": counters.get("BROKER_PUT_NUMS", {}).get(cluster, 0),
            "put_bytes": sum(counters.get("TOPIC_PUT_SIZE", {}).values()),
            "get": counters.get("BROKER_GET_NUMS", {}).get(cluster, 0),
            "found": (found := counters.get("READS_FOUND", {}).get(cluster, 0)),
            "missed": (missed := counters.get("READS_MISSED", {}).get(cluster, 0)),
            "read": found + missed,
            "users_put": counters["BROKER_PUT_NUMS" + NO_SYSTEM_TOPICS][cluster],
            "users_get": counters["BROKER_GET_NUMS" + NO_SYSTEM_TOPICS][cluster],
        }

    def sample(self) -> None:
        """Take a sample of every counter."""
        counters = self.counters()
        totals = self.totals(counters)
        self.stats.sample(counters)
        self.recent.add(totals)
        self.days.turn(totals)

    def forget(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Let nothing be told any more of a topic or a group that was deleted."""
        self.stats.forget(self.counters(), topic=topic, group=group)

    @property
    def _cluster(self) -> str:
        return self._broker.config.brokerClusterName

    def _count_stored(self, topic: str, messages: int, size: int) -> None:
        self.count("TOPIC_PUT_NUMS", topic, messages)
        self.count("TOPIC_PUT_SIZE", topic, size)
        self.count("BROKER_PUT_NUMS", self._cluster, messages)
