"""Consumer groups: list, create, change, delete."""

from dataclasses import replace
from typing import TypedDict, Unpack

from tailfin.admin.errors import NotFound
from tailfin.admin.servers import Servers, each
from tailfin.admin.topics import Topics
from tailfin.broker.names import dead_letter_topic, is_system_group, retry_topic
from tailfin.wire.bodies.groups import GroupRetryPolicy, SubscriptionGroupConfig, SubscriptionGroupWrapper
from tailfin.wire.codes import Code
from tailfin.wire.headers.topics import DeleteSubscriptionGroupRequestHeader


class GroupSettings(TypedDict, total=False):
    """Settings of a group, by the names that `SubscriptionGroupConfig` has.

    Attributes:
        consume_enable: members may read.
        consume_from_min_enable: members may begin at the first message.
        consume_broadcast_enable: members may each read all messages.
        consume_message_orderly: members read each queue in order.
        retry_queue_nums: queues of the group's retry topic.
        retry_max_times: attempts before a message becomes a dead letter.
        group_retry_policy: waits between attempts (5.x).
        which_broker_when_consume_slowly: id of the slave that serves members that lag.
        notify_consumer_ids_changed_enable: members are told when others come or go.
        consume_timeout_minute: minutes a message may be worked on.
        attributes: attributes of 5.x brokers.
    """

    consume_enable: bool
    consume_from_min_enable: bool
    consume_broadcast_enable: bool
    consume_message_orderly: bool
    retry_queue_nums: int
    retry_max_times: int
    group_retry_policy: GroupRetryPolicy
    which_broker_when_consume_slowly: int
    notify_consumer_ids_changed_enable: bool
    consume_timeout_minute: int
    attributes: dict[str, str]


class Groups:
    """What an operator does with consumer groups: `AdminClient.groups`."""

    def __init__(self, servers: Servers, topics: Topics) -> None:
        self._servers = servers
        self._topics = topics

    async def list(
        self, *, cluster: str | None = None, broker: str | None = None, everything: bool = False
    ) -> tuple[str, ...]:
        """Return the names of groups, sorted.

        Args:
            cluster: only groups of this cluster's brokers.
            broker: only groups of this broker, by name or address.
            everything: with RocketMQ's own groups.
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        tables = await each(targets, self._table)
        names = {name for table in tables.values() for name in table}
        return tuple(sorted(name for name in names if everything or not is_system_group(name)))

    async def create(
        self,
        group: str,
        *,
        cluster: str | None = None,
        broker: str | None = None,
        **settings: Unpack[GroupSettings],
    ) -> tuple[str, ...]:
        """Make a group, or give one that is there these settings; return the brokers that have it now.

        Args:
            group: its name.
            cluster: on the masters of this cluster only; without it and `broker`, on all masters.
            broker: on this broker only, by name or address.
            **settings: see `GroupSettings`; what is not given is RocketMQ's default.

        Example:
            ```python
            admin.groups.create("billing", retry_max_times=5)
            ```
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        config = SubscriptionGroupConfig(group_name=group, **settings)
        await each(targets, lambda address: self._put(address, config))
        return tuple(targets)

    async def update(
        self,
        group: str,
        *,
        cluster: str | None = None,
        broker: str | None = None,
        **settings: Unpack[GroupSettings],
    ) -> dict[str, SubscriptionGroupConfig]:
        """Change some settings of a group where it is; return all of them by broker.

        Args:
            group: its name.
            cluster: on the masters of this cluster only.
            broker: on this broker only, by name or address.
            **settings: see `GroupSettings`; what is not given stays.
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        found = await self.config(group, cluster=cluster, broker=broker)
        changed = {name: replace(config, **settings) for name, config in found.items()}
        for name, config in changed.items():
            await self._put(targets[name], config)
        return changed

    async def _put(self, address: str, config: SubscriptionGroupConfig) -> None:
        await self._servers.ask(
            address, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config.to_json(standard=True)
        )

    async def delete(
        self, group: str, *, cluster: str | None = None, keep_offsets: bool = False, keep_topics: bool = False
    ) -> tuple[str, ...]:
        """Delete a group; return the names of the brokers it was deleted on.

        Args:
            group: its name.
            cluster: only there; without it everywhere.
            keep_offsets: a group of this name that is made later goes on where this one was.
            keep_topics: keep its retry topic and its dead letters.
        """
        targets = await self._servers.masters(cluster=cluster)
        await self.config(group, cluster=cluster)
        header = DeleteSubscriptionGroupRequestHeader(group_name=group, clean_offset=not keep_offsets)
        await each(
            targets, lambda address: self._servers.ask(address, Code.DELETE_SUBSCRIPTIONGROUP, header=header)
        )
        if not keep_topics:
            for topic in (retry_topic(group), dead_letter_topic(group)):
                await self._topics.delete_on(targets, topic, cluster)
        return tuple(targets)

    async def config(
        self, group: str, *, cluster: str | None = None, broker: str | None = None
    ) -> dict[str, SubscriptionGroupConfig]:
        """Return a group's settings by broker; brokers without it are left out.

        Args:
            group: its name.
            cluster: of brokers of this cluster.
            broker: of this broker, by name or address.
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        # RocketMQ creates a group that is asked for alone, unless it is set not to.
        tables = await each(targets, self._table)
        configs = {name: table[group] for name, table in tables.items() if group in table}
        if not configs:
            raise NotFound(
                f"group {group!r} is on none of the brokers {', '.join(targets)}; "
                f"`tailfin group list` shows what there is, `tailfin group create {group}` makes it"
            )
        return configs

    async def _table(self, address: str) -> dict[str, SubscriptionGroupConfig]:
        answer = await self._servers.ask(address, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        return SubscriptionGroupWrapper.from_json(answer.body).subscription_group_table
