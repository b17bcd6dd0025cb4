"""Topics: list, create, change, delete, and where and how full their queues are."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from tailfin.admin.errors import AdminError, NotFound
from tailfin.admin.servers import Servers, each
from tailfin.admin.topic_facts import QueueStatus, TopicPlace, TopicStatus, places
from tailfin.broker.names import DEFAULT_TOPIC, DLQ_PREFIX, RETRY_PREFIX
from tailfin.client.names import is_system_topic
from tailfin.client.queues import Queue
from tailfin.wire.bodies.common import GroupList, TopicList
from tailfin.wire.bodies.stats import TopicStatsTable
from tailfin.wire.bodies.topics import Perm, TopicConfig, TopicConfigSerializeWrapper
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.namesrv import (
    DeleteKVConfigRequestHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetTopicsByClusterRequestHeader,
    PutKVConfigRequestHeader,
)
from tailfin.wire.headers.topics import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
OF_GROUPS = (RETRY_PREFIX, DLQ_PREFIX)
LOOK_AGAIN_S = 0.02
_FOUND_OR_NOT = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


class Topics:
    """What an operator does with topics: `AdminClient.topics`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def list(self, *, cluster: str | None = None, everything: bool = False) -> tuple[str, ...]:
        """Return the names of topics, sorted.

        Args:
            cluster: only topics of this cluster.
            everything: with RocketMQ's own topics, and those of groups (`%RETRY%...`, `%DLQ%...`).
        """
        if cluster is None:
            answer = await self._servers.ask_nameserver(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        else:
            await self._servers.masters(cluster=cluster)
            header = GetTopicsByClusterRequestHeader(cluster=cluster)
            answer = await self._servers.ask_nameserver(Code.GET_TOPICS_BY_CLUSTER, header=header)
        names = set(TopicList.from_json(answer.body).topic_list)
        if not everything:
            names -= await self._system()
            # A broker that does not answer leaves its own topics to be known by their names.
            names = {name for name in names if not (name.startswith(OF_GROUPS) or is_system_topic(name))}
        return tuple(sorted(names))

    async def _system(self) -> set[str]:
        answer = await self._servers.ask_nameserver(Code.GET_SYSTEM_TOPIC_LIST_FROM_NS)
        answers = [
            answer,
            *(await self._servers.ask_reachable(Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)).values(),
        ]
        return {name for each in answers for name in TopicList.from_json(each.body).topic_list}

    async def create(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        write_queues: int | None = None,
        perm: Perm | int = Perm.READ | Perm.WRITE,
        order: bool = False,
        attributes: Mapping[str, str] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> tuple[str, ...]:
        """Make a topic, or give one that is there these settings; return the brokers that have it now.

        When it returns, the name servers know the topic: producers and consumers can use it at once.

        Args:
            topic: its name.
            queues: queues on each broker, to read and to write.
            read_queues: queues to read, if not as many.
            write_queues: queues to write, if not as many.
            perm: what may be done: `Perm.READ`, `Perm.WRITE`, or both.
            order: keep the order of messages even when a broker is down: its queues then wait for it.
            attributes: attributes of 5.x brokers, as `{"message.type": "FIFO"}`.
            cluster: on the masters of this cluster only; without it and `broker`, on all masters.
            broker: on this broker only, by name or address.

        Example:
            ```python
            admin.topics.create("orders", queues=16)
            ```
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=queues if read_queues is None else read_queues,
            write_queue_nums=queues if write_queues is None else write_queues,
            perm=int(perm),
            order=order,
        )
        await each(targets, lambda address: self._put(address, config, attributes))
        if order:
            await self._tell_order(topic, targets, config.write_queue_nums)
        await self._settled(topic, targets)
        return tuple(targets)

    async def update(
        self,
        topic: str,
        *,
        queues: int | None = None,
        read_queues: int | None = None,
        write_queues: int | None = None,
        perm: Perm | int | None = None,
        attributes: Mapping[str, str | None] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> dict[str, TopicConfig]:
        """Change some settings of a topic where it is; return all of them by broker.

        Args:
            topic: its name.
            queues: queues on each broker, to read and to write.
            read_queues: queues to read.
            write_queues: queues to write.
            perm: what may be done.
            attributes: attributes to set; None takes one away.
            cluster: on the masters of this cluster only.
            broker: on this broker only, by name or address.
        """
        read, write = (queues if each is None else each for each in (read_queues, write_queues))
        configs = await self.config(topic, cluster=cluster, broker=broker)
        addresses = await self._servers.masters(cluster=cluster, broker=broker)
        changed = {
            name: replace(
                config,
                read_queue_nums=config.read_queue_nums if read is None else read,
                write_queue_nums=config.write_queue_nums if write is None else write,
                perm=config.perm if perm is None else int(perm),
            )
            for name, config in configs.items()
        }
        await asyncio.gather(
            *(self._put(addresses[name], config, attributes) for name, config in changed.items())
        )
        return await self.config(topic, cluster=cluster, broker=broker)

    async def _put(
        self, address: str, config: TopicConfig, attributes: Mapping[str, str | None] | None
    ) -> None:
        words = [
            f"-{key}" if value is None else f"+{key}={value}" for key, value in (attributes or {}).items()
        ]
        header = CreateTopicRequestHeader(
            topic=config.topic_name or "",
            default_topic=DEFAULT_TOPIC,
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            topic_filter_type=config.topic_filter_type,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
            attributes=",".join(words) or None,
        )
        await self._servers.ask(address, Code.UPDATE_AND_CREATE_TOPIC, header=header)

    async def _tell_order(self, topic: str, targets: Mapping[str, str], queues: int) -> None:
        value = ";".join(f"{name}:{queues}" for name in targets)
        header = PutKVConfigRequestHeader(namespace=ORDER_TOPICS, key=topic, value=value)
        await self._servers.ask_nameservers(Code.PUT_KV_CONFIG, header=header)

    async def _settled(self, topic: str, targets: Mapping[str, str]) -> None:
        """Wait until the name server shows the topic on its brokers: they tell it a moment later."""
        try:
            async with asyncio.timeout(self._servers.timeout):
                while True:
                    route = await self._servers.find_route(topic)
                    if route and targets.keys() <= {each.broker_name for each in route.queue_datas}:
                        return
                    await asyncio.sleep(LOOK_AGAIN_S)
        except TimeoutError:
            raise AdminError(
                f"topic {topic!r} was made on {', '.join(targets)}, but the name server does not show it "
                f"there after {self._servers.timeout:g} s; can these brokers reach the name server?"
            ) from None

    async def delete(self, topic: str, *, cluster: str | None = None) -> tuple[str, ...]:
        """Delete a topic with its messages, and the name servers' knowledge of it; return the brokers' names.

        Args:
            topic: its name.
            cluster: only there; without it everywhere.
        """
        if cluster is None:
            targets = await self._servers.masters_of(topic)
        else:
            targets = await self._servers.masters(cluster=cluster)
        await self.delete_on(targets, topic, cluster)
        return tuple(targets)

    async def delete_on(self, targets: Mapping[str, str], topic: str, cluster: str | None) -> None:
        """Delete a topic on these brokers, whether it is there or not, and at the name servers."""
        header = DeleteTopicRequestHeader(topic=topic)
        await each(
            targets, lambda address: self._servers.ask(address, Code.DELETE_TOPIC_IN_BROKER, header=header)
        )
        await self._servers.ask_nameservers(
            Code.DELETE_TOPIC_IN_NAMESRV,
            header=DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=cluster),
        )
        await self._servers.ask_nameservers(
            Code.DELETE_KV_CONFIG, header=DeleteKVConfigRequestHeader(namespace=ORDER_TOPICS, key=topic)
        )

    async def route(self, topic: str) -> tuple[TopicPlace, ...]:
        """Return where a topic is: its brokers, their addresses, its queues there."""
        return places(await self._servers.route(topic))

    async def status(self, topic: str) -> TopicStatus:
        """Return the ends of a topic's queues."""
        header = GetTopicStatsInfoRequestHeader(topic=topic)
        answers = await each(
            await self._servers.nearest_of(topic),
            lambda address: self._servers.ask(address, Code.GET_TOPIC_STATS_INFO, header=header),
        )
        tables = [TopicStatsTable.from_json(answer.body) for answer in answers.values()]
        queues = (
            QueueStatus(
                Queue.of_body(queue), ends.min_offset, ends.max_offset, ends.last_update_timestamp or None
            )
            for table in tables
            for queue, ends in table.offset_table.items()
        )
        return TopicStatus(
            topic,
            tuple(sorted(queues, key=lambda each: each.queue)),
            sum(table.topic_put_tps for table in tables),
        )

    async def config(
        self, topic: str, *, cluster: str | None = None, broker: str | None = None
    ) -> dict[str, TopicConfig]:
        """Return a topic's settings by broker; brokers without it are left out.

        Args:
            topic: its name.
            cluster: of brokers of this cluster.
            broker: of this broker, by name or address.
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        found = await each(targets, lambda address: self._config_at(address, topic))
        configs = {name: config for name, config in found.items() if config is not None}
        if not configs:
            raise NotFound(f"topic {topic!r} is on none of the brokers {', '.join(targets)}")
        return configs

    async def _config_at(self, address: str, topic: str) -> TopicConfig | None:
        header = GetTopicConfigRequestHeader(topic=topic)
        answer = await self._servers.ask(address, Code.GET_TOPIC_CONFIG, header=header, accept=_FOUND_OR_NOT)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        if answer.code == ResponseCode.SUCCESS:
            return TopicConfig.from_json(answer.body)
        # Brokers before 5.x only tell of all topics at once.
        answer = await self._servers.ask(address, Code.GET_ALL_TOPIC_CONFIG)
        return TopicConfigSerializeWrapper.from_json(answer.body).topic_config_table.get(topic)

    async def groups(self, topic: str) -> tuple[str, ...]:
        """Return the groups that read a topic, now or some time before."""
        header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
        answers = await each(
            await self._servers.nearest_of(topic),
            lambda address: self._servers.ask(address, Code.QUERY_TOPIC_CONSUME_BY_WHO, header=header),
        )
        names = {name for each in answers.values() for name in GroupList.from_json(each.body).group_list}
        return tuple(sorted(names))
