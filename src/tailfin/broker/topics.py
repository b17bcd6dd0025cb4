"""The topics of a broker: `topics.json`, system topics, creation by the first message."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tailfin.broker import limits, names
from tailfin.broker.attributes import changed_attributes
from tailfin.broker.config_file import first_version, following
from tailfin.broker.saved_table import SavedTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.topics import Perm, TopicConfig, TopicConfigSerializeWrapper
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

READ_WRITE = Perm.READ | Perm.WRITE

BENCHMARK_QUEUES = 1024
CLUSTER_TOPIC_QUEUES = 16
SCHEDULE_QUEUES = 18

OnChange = Callable[[list[TopicConfig]], None]


class TopicTable:
    """Every topic this broker holds.

    `on_change` hears of each topic that was made or changed, `on_delete` of each that went: the rulebook
    and the name servers follow from there. `on_touch` hears the names of both kinds, for the file.

    With `light` there is a topic for every name of a light queue; nobody is told of those, and none is kept.
    """

    def __init__(self, folder: Path, config: BrokerConfig, *, light: bool = False) -> None:
        self.config = config
        self._light = light
        self.version = first_version()
        self.on_change: OnChange = lambda topics: None
        self.on_delete: Callable[[str], None] = lambda name: None
        self.on_touch: Callable[[Collection[str]], None] = lambda names: None
        self._topics: dict[str, TopicConfig] = {}
        self.file = SavedTable(
            folder / "topics.json", TopicConfigSerializeWrapper, self, "topic_config_table"
        )
        self._system = set(names.SYSTEM_TOPICS)
        self._held: list[str] = []
        self.unkept: set[str] = set()
        """Topics that a message made and that are perhaps not on disk yet."""

    def load(self) -> None:
        """Read the file, then put every system topic in its place."""
        self.file.load()
        for topic in system_topics(self.config):
            name = name_of(topic)
            self._system.add(name)
            # What an operator or an earlier start made of queue numbers stays.
            if name == names.DEFAULT_TOPIC or name not in self._topics:
                self._topics[name] = topic

    def snapshot(self) -> TopicConfigSerializeWrapper:
        """Return the table as the file holds it."""
        return TopicConfigSerializeWrapper(topic_config_table=dict(self._topics), data_version=self.version)

    def part(self, names: Collection[str]) -> TopicConfigSerializeWrapper:
        """Return what there is of some topics."""
        found = {name: topic for name in names if (topic := self._topics.get(name))}
        return TopicConfigSerializeWrapper(topic_config_table=found, data_version=self.version)

    def take(self, content: TopicConfigSerializeWrapper, names: Collection[str] | None = None) -> None:
        """Take topics from the file, all or some of them, and tell nobody."""
        for name in content.topic_config_table if names is None else names:
            if topic := content.topic_config_table.get(name):
                self._topics[name] = limits.mended_topic(replace(topic, topic_name=name))
            else:
                self._topics.pop(name, None)

    def get(self, name: str) -> TopicConfig | None:
        """Return a topic."""
        if self.is_light(name):
            return TopicConfig(topic_name=name, read_queue_nums=1, write_queue_nums=1, perm=int(READ_WRITE))
        return self._topics.get(name)

    def is_light(self, name: str) -> bool:
        """Whether a topic is a light queue, to which messages of other topics are dispatched."""
        return self._light and name.startswith(names.LIGHT_PREFIX)

    def all(self) -> list[TopicConfig]:
        """Return every topic."""
        return list(self._topics.values())

    def __contains__(self, name: str) -> bool:
        return self.is_light(name) or name in self._topics

    def is_system(self, name: str) -> bool:
        """Whether a topic is RocketMQ's own."""
        return name in self._system or name.startswith(names.SYSTEM_PREFIX)

    def system(self) -> list[str]:
        """Names of the system topics, sorted."""
        return sorted(self._system)

    def put(self, topics: Iterable[TopicConfig], *, by_message: bool = False) -> list[TopicConfig]:
        """Make or change topics and tell the others; return those that are new or differ.

        With `by_message` they are `unkept` until somebody waited for the disk.

        Raises:
            RemotingError: the queues of a former topic of a new one's name are being removed.
        """
        topics = list(topics)
        for name in map(name_of, topics):
            if name in self._held and name not in self._topics:
                remark = f"what is left of a former topic[{name}] is being removed; try again"
                raise RemotingError(ResponseCode.SYSTEM_BUSY, remark)
        fresh = [topic for topic in topics if self._topics.get(name_of(topic)) != topic]
        fresh = [topic for topic in fresh if not self.is_light(name_of(topic))]
        if by_message:
            self.unkept.update(name_of(topic) for topic in fresh)
        if fresh:
            self._topics.update({name_of(topic): topic for topic in fresh})
            self.version = following(self.version)
            self.on_change(fresh)
            self.on_touch([name_of(topic) for topic in fresh])
        return fresh

    def create_for_send(
        self, name: str, default_topic: str, queues_wanted: int, sys_flag: int = 0
    ) -> TopicConfig | None:
        """Make the topic of a first message after its default topic; None when that may not be inherited."""
        if found := self._topics.get(name):
            return found
        # From a time when it was allowed the default topic is still there.
        if default_topic == names.DEFAULT_TOPIC and not self.config.autoCreateTopicEnable:
            return None
        parent = self._topics.get(default_topic)
        if parent is None or not parent.perm & Perm.INHERIT or names.topic_trouble(name):
            return None
        queues = max(min(queues_wanted, parent.write_queue_nums), 0)
        topic = TopicConfig(
            topic_name=name,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=int(parent.perm & ~Perm.INHERIT),
            topic_filter_type=parent.topic_filter_type,
            topic_sys_flag=sys_flag,
        )
        self.put([topic], by_message=True)
        return topic

    def create_for_group(
        self, name: str, queues: int, *, order: bool = False, sys_flag: int = 0, perm: int = READ_WRITE
    ) -> TopicConfig:
        """Return a group's retry or dead letter topic, made when it is not there."""
        if found := self._topics.get(name):
            return found
        topic = TopicConfig(
            topic_name=name,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=int(perm),
            topic_sys_flag=sys_flag,
            order=order,
        )
        self.put([topic])
        return topic

    def widen(self, name: str, queues: int) -> bool:
        """Give a topic at least so many queues; false when there is nothing to do."""
        topic = self._topics.get(name)
        if topic is None:
            return False
        read, write = max(topic.read_queue_nums, queues), max(topic.write_queue_nums, queues)
        return bool(self.put([replace(topic, read_queue_nums=read, write_queue_nums=write)]))

    @contextlib.contextmanager
    def held_back(self, name: str) -> Iterator[None]:
        """Let nobody make a topic whose queues are removed: what is sent to it meanwhile would go too."""
        self._held.append(name)
        try:
            yield
        finally:
            self._held.remove(name)

    def with_attributes(self, topic: TopicConfig, text: str | None) -> TopicConfig:
        """Return a topic with attributes changed by text like `+key=value,-key`, or raise `ValueError`."""
        current = self._topics.get(name_of(topic))
        before = dict(current.attributes) if current else {}
        attributes = changed_attributes(
            before, text or "", new=current is None, mixed_allowed=self.config.enableMixedMessageType
        )
        return replace(topic, attributes=attributes)

    def touch(self) -> None:
        """Count a change that is not in the table but in what name servers are told of it."""
        self.version = following(self.version)

    def delete(self, name: str) -> bool:
        """Forget a topic; false when there was none."""
        if self._topics.pop(name, None) is None:
            return False
        self.version = following(self.version)
        self.unkept.discard(name)
        self.on_delete(name)
        self.on_touch([name])
        return True


def name_of(topic: TopicConfig) -> str:
    """Return the name of a topic; in the table each has one."""
    assert topic.topic_name is not None
    return topic.topic_name


def system_topics(config: BrokerConfig) -> list[TopicConfig]:
    """List the topics that a broker always has."""

    def made(name: str, queues: int, perm: int = READ_WRITE) -> TopicConfig:
        return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=int(perm))

    def open_if(allowed: bool) -> int:
        return Perm.INHERIT | READ_WRITE if allowed else Perm.INHERIT

    topics = [
        made(names.SELF_TEST_TOPIC, 1),
        made(names.BENCHMARK_TOPIC, BENCHMARK_QUEUES),
        made(config.brokerClusterName, CLUSTER_TOPIC_QUEUES, open_if(config.clusterTopicEnable)),
        made(config.brokerName, 1, open_if(config.brokerTopicEnable)),
        made(names.OFFSET_MOVED_TOPIC, 1),
        made(names.SCHEDULE_TOPIC, SCHEDULE_QUEUES),
        made(f"{config.brokerClusterName}_REPLY_TOPIC", 1),
        made(f"rmq_sys_REVIVE_LOG_{config.brokerClusterName}", config.reviveQueueNum),
        made(f"rmq_sys_SYNC_BROKER_MEMBER_{config.brokerName}", 1, Perm.INHERIT),
        made(names.HALF_TOPIC, 1),
        made(names.OP_TOPIC, 1),
    ]
    if config.autoCreateTopicEnable:
        topics.append(made(names.DEFAULT_TOPIC, config.defaultTopicQueueNums, Perm.INHERIT | READ_WRITE))
    if config.traceTopicEnable:
        topics.append(made(config.msgTraceTopicName, 1))
    if config.timerWheelEnable:
        topics.append(made(names.TIMER_TOPIC, 1))
    return topics
