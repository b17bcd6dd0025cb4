"""Topics: made, changed, listed, measured, deleted."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tailfin.broker import limits, names
from tailfin.off_loop import to_its_end
from tailfin.remoting import Request, Response, handles
from tailfin.rounds import Rounds
from tailfin.wire.bodies.common import GroupList, MessageQueue, TopicList
from tailfin.wire.bodies.stats import TopicOffset, TopicStatsTable
from tailfin.wire.bodies.topics import (
    CreateTopicListRequestBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigAndQueueMapping,
    TopicFilterType,
)
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.topics import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")


class TopicAdmin:
    """Handlers about topics."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._cleaning = Rounds(self._clean_unused)

    @handles(Code.UPDATE_AND_CREATE_TOPIC)
    async def update(self, request: Request) -> Response:
        """Make or change one topic."""
        header = CreateTopicRequestHeader.decode(request.fields)
        try:
            kind = TopicFilterType(header.topic_filter_type)
        except ValueError:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"topicFilterType must be SINGLE_TAG or MULTI_TAG, not {header.topic_filter_type!r}",
            ) from None
        topic = TopicConfig(
            topic_name=header.topic,
            read_queue_nums=header.read_queue_nums,
            write_queue_nums=header.write_queue_nums,
            perm=header.perm,
            topic_filter_type=kind,
            topic_sys_flag=header.topic_sys_flag or 0,
            order=header.order,
        )
        self._check(topic)
        try:
            topic = self._broker.topics.with_attributes(topic, header.attributes)
        except ValueError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        self._broker.topics.put([topic])
        await self._broker.topics_settled()
        log.info("topic %s made or changed by %s", header.topic, request.peer)
        return Response()

    @handles(Code.UPDATE_AND_CREATE_TOPIC_LIST)
    async def update_list(self, request: Request) -> Response:
        """Make or change several topics, all of them or none."""
        wanted = CreateTopicListRequestBody.from_json(request.body).topic_config_list
        fresh: list[TopicConfig] = []
        for topic in wanted:
            self._check(topic)
            text = ",".join(
                key if key[:1] == "-" else f"+{key.removeprefix('+')}={value}"
                for key, value in topic.attributes.items()
            )
            try:
                fresh.append(self._broker.topics.with_attributes(replace(topic, attributes={}), text))
            except ValueError as error:
                raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{topic.topic_name}: {error}") from None
        self._broker.topics.put(fresh)
        await self._broker.topics_settled()
        return Response()

    def _check(self, topic: TopicConfig) -> None:
        name = topic.topic_name or ""
        if trouble := names.topic_trouble(name):
            raise RemotingError(ResponseCode.INVALID_PARAMETER, trouble)
        if self._broker.config.validateSystemTopicWhenUpdateTopic and self._broker.topics.is_system(name):
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"The topic[{name}] is conflict with system topic."
            )
        if trouble := limits.topic_trouble(topic):
            raise RemotingError(ResponseCode.INVALID_PARAMETER, trouble)

    @handles(Code.DELETE_TOPIC_IN_BROKER)
    async def delete(self, request: Request) -> Response:
        """Delete a topic: its settings, queues and offsets; the records stay until they expire."""
        name = DeleteTopicRequestHeader.decode(request.fields).topic
        if not name.strip():
            raise RemotingError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
        if self._broker.config.validateSystemTopicWhenUpdateTopic and self._broker.topics.is_system(name):
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"The topic[{name}] is conflict with system topic."
            )
        await self._delete(self._with_pop_retry_topics(name))
        # A topic made again under that name must not be read from where the old one was left.
        await self._broker.offsets.persist_if_changed()
        await self._broker.topics_settled()
        log.info("topic %s deleted by %s", name, request.peer)
        return Response()

    def _with_pop_retry_topics(self, name: str) -> Iterable[str]:
        yield name
        if self._broker.config.clearRetryTopicWhenDeleteTopic:
            for group in self._broker.offsets.groups_of(name):
                yield from (
                    retry
                    for separator in "_+"
                    if (retry := names.retry_topic(f"{group}{separator}{name}")) in self._broker.topics
                )

    async def _delete(self, topics: Iterable[str]) -> None:
        for name in list(topics):
            self._broker.topics.delete(name)
            self._broker.offsets.drop(topic=name)
            await self._remove_queues(name)
            self._broker.counting.forget(topic=name)

    async def _remove_queues(self, name: str) -> None:
        with self._broker.topics.held_back(name):
            # It waits until what was sent to the topic is in its queues, and removes files.
            await to_its_end(self._broker.store.delete_topic, name)

    @handles(Code.GET_ALL_TOPIC_CONFIG)
    def all(self, request: Request) -> Response:
        """List all topics with their settings, in one answer or in pages."""
        header = GetAllTopicConfigRequestHeader.decode(request.fields)
        table = dict(sorted(self._broker.topics.snapshot().topic_config_table.items()))
        total = len(table)
        if header.topic_seq is not None and header.max_topic_num:
            first = max(header.topic_seq, 0)
            table = dict(list(table.items())[first : first + header.max_topic_num])
        body = TopicConfigAndMappingSerializeWrapper(
            topic_config_table=table, data_version=self._broker.topics.version
        )
        return Response(
            fields=GetAllTopicConfigResponseHeader(total_topic_num=total).encode(), body=body.to_json()
        )

    @handles(Code.GET_TOPIC_CONFIG)
    def config(self, request: Request) -> Response:
        """Return one topic's settings."""
        topic = self._topic(GetTopicConfigRequestHeader.decode(request.fields).topic)
        tree = TopicConfigAndQueueMapping.from_tree(topic.to_tree())
        return Response(body=tree.to_json())

    @handles(Code.GET_TOPIC_STATS_INFO)
    def stats(self, request: Request) -> Response:
        """Return the ends of a topic's queues."""
        name = GetTopicStatsInfoRequestHeader.decode(request.fields).topic
        topic, store = self._topic(name), self._broker.store
        table = {}
        for queue_id in range(max(topic.read_queue_nums, topic.write_queue_nums)):
            low, high = max(store.min_offset(name, queue_id), 0), max(store.max_offset(name, queue_id), 0)
            last = self._broker.queries.store_time(name, queue_id, high - 1) if high > 0 else None
            queue = MessageQueue(topic=name, broker_name=self._broker.config.brokerName, queue_id=queue_id)
            table[queue] = TopicOffset(min_offset=low, max_offset=high, last_update_timestamp=last or 0)
        tps = self._broker.counting.stats.per_second("TOPIC_PUT_NUMS", name)
        return Response(body=TopicStatsTable(offset_table=table, topic_put_tps=tps).to_json())

    @handles(Code.QUERY_TOPIC_CONSUME_BY_WHO)
    def consumed_by(self, request: Request) -> Response:
        """List the groups that read a topic, online or with offsets."""
        name = QueryTopicConsumeByWhoRequestHeader.decode(request.fields).topic
        online = self._broker.clients.groups_reading(name)
        groups = sorted({*online, *self._broker.offsets.groups_of(name)})
        return Response(body=GroupList(group_list=groups).to_json())

    @handles(Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    def system(self, request: Request) -> Response:
        """List the system topics."""
        return Response(body=TopicList(topic_list=self._broker.topics.system()).to_json())

    @handles(Code.CLEAN_UNUSED_TOPIC)
    async def clean_unused(self, request: Request) -> Response:
        """Delete the queues of topics that no longer exist."""
        await self._cleaning.served()
        return Response()

    async def _clean_unused(self) -> None:
        topics = self._broker.topics
        for name in self._broker.store.topics():
            if name not in topics and not topics.is_system(name) and not name.startswith("%LMQ%"):
                await self._remove_queues(name)
                log.info("queues of topic %s deleted: the topic does not exist", name)

    def _topic(self, name: str) -> TopicConfig:
        topic = self._broker.topics.get(name)
        if topic is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist{FAQ}")
        return topic
