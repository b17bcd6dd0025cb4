"""What a name server knows: topics, brokers, clusters, who lives. Nothing of it is on disk.

One event loop owns the tables, so there are no locks: a change is whole before the next request is looked
at. `changes` counts the changes that any route may show, `revisions` has a new number for each topic whose
own route changed; whoever keeps an answer keeps both with it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.routes import BrokerData, QueueData
from tailfin.wire.bodies.topics import TopicQueueMappingInfo

MASTER_ID = 0


class Address(NamedTuple):
    """A broker process: an address may serve several clusters."""

    cluster: str
    address: str


@dataclass(slots=True)
class Broker:
    """The members of a broker name, by id."""

    cluster: str
    name: str
    members: dict[int, str] = field(default_factory=dict)
    acting_master: bool = False
    zone: str | None = None

    @property
    def least_id(self) -> int | None:
        """Return the smallest id of a live member."""
        return min(self.members, default=None)

    def data(self) -> BrokerData:
        """Return what clients are told of it."""
        return BrokerData(
            cluster=self.cluster,
            broker_name=self.name,
            broker_addrs=dict(self.members),
            enable_acting_master=self.acting_master,
            zone_name=self.zone,
        )


@dataclass(slots=True)
class Life:
    """The last sign of a broker process."""

    seen_ms: int
    timeout_ms: int
    data_version: DataVersion
    connection: int | None
    ha_address: str
    topics: object = None
    """The registration's topics, to know them again."""


@dataclass(slots=True)
class Tables:
    """All tables; `registration` and `removal` change them, `routes` and `lists` read them."""

    queues: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    brokers: dict[str, Broker] = field(default_factory=dict)
    clusters: dict[str, set[str]] = field(default_factory=dict)
    lives: dict[Address, Life] = field(default_factory=dict)
    filter_servers: dict[Address, list[str]] = field(default_factory=dict)
    mappings: dict[str, dict[str, TopicQueueMappingInfo]] = field(default_factory=dict)
    changes: int = 0
    revisions: dict[str, int] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Brokers whose topics changed since their last registration was gone through."""
    _last_revision: int = field(default=0, init=False, repr=False, compare=False)
    _of_broker: dict[str, dict[str, None]] = field(default_factory=dict, init=False, repr=False)

    def topic_changed(self, topic: str) -> None:
        """Note that a topic's route is not what it was."""
        self._last_revision += 1
        self.revisions[topic] = self._last_revision

    def put_queues(self, topic: str, data: QueueData) -> None:
        """Set a topic's queues on a broker."""
        of_topic = self.queues.setdefault(topic, {})
        if of_topic.get(data.broker_name) != data:
            of_topic[data.broker_name] = data
            self._of_broker.setdefault(data.broker_name, {})[topic] = None
            self.touched.add(data.broker_name)
            self.topic_changed(topic)

    def drop_queues(self, topic: str, broker_name: str) -> None:
        """Remove a topic from a broker, and the topic when it was the last one."""
        of_topic = self.queues.get(topic, {})
        if of_topic.pop(broker_name, None) is not None:
            self._forget(topic, broker_name)
            self.touched.add(broker_name)
            self.topic_changed(topic)
        if not of_topic:
            self.queues.pop(topic, None)
            self.revisions.pop(topic, None)
        mapped = self.mappings.get(topic, {})
        mapped.pop(broker_name, None)
        if not mapped:
            self.mappings.pop(topic, None)

    def _forget(self, topic: str, broker_name: str) -> None:
        topics = self._of_broker[broker_name]
        del topics[topic]
        if not topics:
            del self._of_broker[broker_name]

    def topics_of(self, broker_name: str) -> list[str]:
        """Return the topics that a broker has."""
        return list(self._of_broker.get(broker_name, ()))

    def change_perm(self, broker_name: str, change: Callable[[int], int]) -> int:
        """Change what may be done with all of a broker's topics; return how many those are."""
        count = 0
        for topic in self.topics_of(broker_name):
            data = self.queues[topic][broker_name]
            if (perm := change(data.perm)) != data.perm:
                self.put_queues(topic, replace(data, perm=perm))
            count += 1
        return count

    def seen(self, address: Address, now_ms: int) -> None:
        """Note a sign of life of a broker that is registered."""
        life = self.lives.get(address)
        if life:
            life.seen_ms = now_ms

    def data_version(self, address: Address) -> DataVersion | None:
        """Return the version of the topics that a broker registered last."""
        life = self.lives.get(address)
        return life.data_version if life else None
