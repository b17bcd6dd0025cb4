"""What the hot path is told: topics, groups and subscriptions, and which of them Python keeps for itself."""

from typing import TYPE_CHECKING

from tailfin.broker import groups, names, topics
from tailfin.broker.clients import ConsumerGroup
from tailfin.broker.filters import ConsumerFilters, is_tag
from tailfin.broker.groups import GroupTable
from tailfin.broker.hooks import ALL, Hooks
from tailfin.broker.topics import TopicTable
from tailfin.message import java_hash
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig, TopicFilterType

if TYPE_CHECKING:
    from tailfin.remoting import HotPath


class Rulebook:
    """Pushes every change to the engine."""

    def __init__(
        self,
        hot: "HotPath",
        topic_table: TopicTable,
        group_table: GroupTable,
        filters: ConsumerFilters,
        hooks: Hooks,
    ) -> None:
        self._hot = hot
        self._topics = topic_table
        self._groups = group_table
        self._filters = filters
        self._hooks = hooks
        hooks.on_topic = self._hooks_of_topic_changed
        hooks.on_group = self._hooks_of_group_changed

    def push_all(self) -> None:
        """Tell everything, as after loading."""
        for topic in self._topics.all():
            self.put_topic(topic)
        for group in self._groups.all():
            self.put_group(group)

    def put_topic(self, topic: TopicConfig) -> None:
        """Tell a new or changed topic."""
        name = topics.name_of(topic)
        self._hot.put_topic(
            name,
            read_queues=topic.read_queue_nums,
            write_queues=topic.write_queue_nums,
            perm=topic.perm,
            sys_flag=topic.topic_sys_flag,
            # Until the topic is on disk each of its messages has to wait for that.
            by_python=self.sends_need_python(topic) or name in self._topics.unkept,
        )

    def sends_need_python(self, topic: TopicConfig) -> bool:
        """Whether sends to a topic are more than the hot path can do."""
        name = topics.name_of(topic)
        return (
            name.startswith(names.RETRY_PREFIX)
            or name in names.NO_CLIENT_MAY_SEND
            or topic.order
            or topic.topic_filter_type is not TopicFilterType.SINGLE_TAG
            or bool(self._hooks.of_topic(name))
        )

    def drop_topic(self, name: str) -> None:
        """Tell that a topic is gone."""
        self._hot.drop_topic(name)

    def put_group(self, group: SubscriptionGroupConfig) -> None:
        """Tell a new or changed group."""
        name = groups.name_of(group)
        self._hot.put_group(
            name,
            consume_enable=group.consume_enable,
            broadcast_enable=group.consume_broadcast_enable,
            broker_id=group.broker_id,
            broker_id_when_slow=group.which_broker_when_consume_slowly,
            sys_flag=group.group_sys_flag,
            by_python=bool(self._hooks.of_group(name)),
        )

    def drop_group(self, name: str) -> None:
        """Tell that a group is gone."""
        self._hot.drop_group(name)

    def tell_light(self, topic: str, group: str) -> None:
        """Tell a light queue, or a group of its readers, that someone reads: they stand in no table."""
        if self._topics.is_light(topic) and (found := self._topics.get(topic)):
            self.put_topic(found)
        if self._groups.is_light(group) and (reader := self._groups.get(group)):
            self.put_group(reader)

    def put_subscription(
        self, group: ConsumerGroup, topic: str, subscription: SubscriptionData | None
    ) -> None:
        """Tell what a group reads of a topic; None: nothing any more."""
        if subscription is None:
            self._hot.drop_subscription(group.name, topic)
            return
        by_tags = is_tag(subscription.expression_type)
        found = None if by_tags else self._filters.get(topic, group.name)
        served = by_tags or (found is not None and found.data.client_version >= subscription.sub_version)
        self._hot.put_subscription(
            group.name,
            topic,
            version=subscription.sub_version,
            tag_codes=tag_codes(subscription),
            broadcast=group.broadcast,
            sql=found.sql if found else None,
            by_python=not served or not self._groups.may_read(group.name, topic),
        )

    def _hooks_of_topic_changed(self, name: str) -> None:
        found = self._topics.all() if name == ALL else [self._topics.get(name)]
        for topic in found:
            if topic is not None:
                self.put_topic(topic)

    def _hooks_of_group_changed(self, name: str) -> None:
        found = self._groups.all() if name == ALL else [self._groups.get(name)]
        for group in found:
            if group is not None:
                self.put_group(group)


def tag_codes(subscription: SubscriptionData) -> list[int]:
    """Return the hashes of a subscription's tags, none for all; clients that sent only tags are helped."""
    if subscription.class_filter_mode:
        return []  # a filter server would have judged them
    return subscription.code_set or [java_hash(tag) for tag in subscription.tags_set]
