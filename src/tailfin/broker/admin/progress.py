"""How far groups are: progress, resets, copies of offsets."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.clients import QueueOffset, ResetOffsetBody, ResetOffsetBodyForC
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.bodies.groups import QueryCorrectionOffsetBody
from tailfin.wire.bodies.stats import (
    ConsumeQueueData,
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeQueueResponseBody,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
)
from tailfin.wire.bodies.topics import TopicConfig
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.header import now_ms
from tailfin.wire.headers.admin import (
    CloneGroupOffsetRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryConsumeQueueRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryCorrectionOffsetHeader,
)
from tailfin.wire.headers.clients import ResetOffsetRequestHeader
from tailfin.wire.version import V3_0_7_SNAPSHOT

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

UNITS_MAX = 1024


class Progress:
    """Handlers about consumer offsets."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def _queue(self, topic: str, queue_id: int) -> MessageQueue:
        return MessageQueue(topic=topic, broker_name=self._broker.config.brokerName, queue_id=queue_id)

    @handles(Code.GET_CONSUME_STATS)
    def of_group(self, request: Request) -> Response:
        """Return a group's progress on one topic, on some, or on all it has offsets on."""
        header = GetConsumeStatsRequestHeader.decode(request.fields)
        topics = [name for name in (header.topic_list or "").split(";") if name.strip()]
        if header.topic and header.topic.strip():
            topics.append(header.topic)
        if not topics:
            topics = self._broker.offsets.topics_of(header.consumer_group)
        return Response(body=self._progress(header.consumer_group, topics).to_json())

    @handles(Code.GET_BROKER_CONSUME_STATS)
    async def of_all(self, request: Request) -> Response:
        """Return the progress of every group."""
        ordered_only = GetConsumeStatsInBrokerHeader.decode(request.fields).is_order
        found: list[dict[str, list[ConsumeStats]]] = []
        for group in self._broker.groups.all():
            name = group.group_name or ""
            topics = self._broker.offsets.topics_of(name)
            if ordered_only:
                topics = [each for each in topics if (t := self._broker.topics.get(each)) and t.order]
            each = [self._progress(name, [topic]) for topic in topics]
            if each := [stats for stats in each if stats.offset_table]:
                found.append({name: each})
            await asyncio.sleep(0)  # each queue is a look into the log, and there may be thousands
        wrappers = [
            wrapper
            for table in found
            for stats in table.values()
            for each in stats
            for wrapper in each.offset_table.values()
        ]
        body = ConsumeStatsList(
            consume_stats_list=found,
            broker_addr=self._broker.address,
            total_diff=sum(each.broker_offset - each.consumer_offset for each in wrappers),
            total_inflight_diff=sum(each.pull_offset - each.consumer_offset for each in wrappers),
        )
        return Response(body=body.to_json())

    def _progress(self, group: str, topics: Iterable[str]) -> ConsumeStats:
        broker = self._broker
        online = broker.clients.consumer_group(group)
        table: dict[MessageQueue, OffsetWrapper] = {}
        per_second = 0.0
        for name in topics:
            topic = broker.topics.get(name)
            # While members are online, what they no longer subscribe to is history.
            if topic is None or (online and online.subscriptions and name not in online.subscriptions):
                continue
            for queue_id in range(topic.read_queue_nums):
                consumed = max(broker.offsets.get(group, name, queue_id) or 0, 0)
                pulled = broker.offsets.pulled(group, name, queue_id) or 0
                last = broker.queries.store_time(name, queue_id, consumed - 1) if consumed > 0 else None
                table[self._queue(name, queue_id)] = OffsetWrapper(
                    broker_offset=max(broker.store.max_offset(name, queue_id), 0),
                    consumer_offset=consumed,
                    pull_offset=max(consumed, pulled),
                    last_timestamp=last or 0,
                )
            per_second += broker.counting.stats.per_second("GROUP_GET_NUMS", f"{name}@{group}")
        return ConsumeStats(offset_table=table, consume_tps=per_second)

    @handles(Code.INVOKE_BROKER_TO_RESET_OFFSET)
    def reset(self, request: Request) -> Response:
        """Send a group to a time or an offset."""
        header = ResetOffsetRequestHeader.decode(request.fields)
        topic = self._broker.topics.get(header.topic)
        if topic is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} does not exist{FAQ}")
        if self._broker.config.useServerSideResetOffset:
            return self._reset_here(header, topic)
        return self._reset_at_clients(header, topic)

    def _reset_here(self, header: ResetOffsetRequestHeader, topic: TopicConfig) -> Response:
        broker = self._broker
        if broker.is_slave:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
        if header.group not in broker.groups:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {header.group} does not exist{FAQ}"
            )
        if header.queue_id >= topic.read_queue_nums:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"topic {header.topic} has {topic.read_queue_nums} queues here, "
                f"there is no queue {header.queue_id}",
            )
        queues = [header.queue_id] if header.queue_id >= 0 else range(topic.read_queue_nums)
        targets = {queue_id: self._target(header, queue_id) for queue_id in queues}
        for queue_id, offset in targets.items():
            broker.offsets.commit(header.group, header.topic, queue_id, offset)
            broker.offsets.reset(header.group, header.topic, queue_id, offset)
        table = {self._queue(header.topic, queue_id): offset for queue_id, offset in targets.items()}
        return Response(body=ResetOffsetBody(offset_table=table).to_json())

    def _target(self, header: ResetOffsetRequestHeader, queue_id: int) -> int:
        store, topic = self._broker.store, header.topic
        if header.queue_id >= 0 and header.offset is not None and header.offset != -1:
            low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
            if not low <= header.offset <= high + 1:
                raise RemotingError(
                    ResponseCode.SYSTEM_ERROR,
                    f"Target offset {header.offset} not in consume queue range [{low}-{high}]",
                )
            return header.offset
        if header.timestamp < 0:
            return max(store.max_offset(topic, queue_id), 0)
        return max(store.offset_at_time(topic, queue_id, header.timestamp), 0)

    def _reset_at_clients(self, header: ResetOffsetRequestHeader, topic: TopicConfig) -> Response:
        broker = self._broker
        group = broker.clients.consumer_group(header.group)
        if group is None:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {header.group} Topic: {header.topic}",
            )
        table: dict[MessageQueue, int] = {}
        for queue_id in range(topic.write_queue_nums):
            now = broker.offsets.get(header.group, header.topic, queue_id)
            if now is None:
                raise RemotingError(
                    ResponseCode.SYSTEM_ERROR,
                    f"THe consumer group <{header.group}> not exist: it has no offset",
                )
            target = self._target(header, queue_id)
            table[self._queue(header.topic, queue_id)] = target if header.is_force else min(target, now)
        plain = ResetOffsetBody(offset_table=table).to_json()
        for_c = ResetOffsetBodyForC(
            offset_table=[
                QueueOffset(topic=q.topic, broker_name=q.broker_name, queue_id=q.queue_id, offset=offset)
                for q, offset in table.items()
            ]
        ).to_json()
        for member in group.members.values():
            if member.version >= V3_0_7_SNAPSHOT:
                broker.server.notify(
                    member.connection,
                    Code.RESET_CONSUMER_CLIENT_OFFSET,
                    header=header,
                    body=for_c if member.language == "CPP" else plain,
                )
        return Response(body=plain)

    @handles(Code.CLONE_GROUP_OFFSET)
    def clone(self, request: Request) -> Response:
        """Give one group the offsets of another."""
        header = CloneGroupOffsetRequestHeader.decode(request.fields)
        topics = [header.topic] if header.topic else self._broker.offsets.topics_of(header.src_group)
        for topic in topics:
            for queue_id, offset in self._broker.offsets.of(header.src_group, topic).items():
                self._broker.offsets.commit(header.dest_group, topic, queue_id, offset)
        return Response()

    @handles(Code.QUERY_CORRECTION_OFFSET)
    def correction(self, request: Request) -> Response:
        """Return the least offsets of the other groups that are not ahead of the compared one."""
        header = QueryCorrectionOffsetHeader.decode(request.fields)
        offsets = self._broker.offsets
        for group in filter(None, (header.filter_groups or "").split(",")):
            offsets.drop(topic=header.topic, group=group)
        least: dict[int, int] = {}
        for group in offsets.groups_of(header.topic):
            for queue_id, offset in offsets.of(group, header.topic).items():
                least[queue_id] = min(offset, least.get(queue_id, offset))
        compared = offsets.of(header.compare_group, header.topic)
        body = QueryCorrectionOffsetBody(
            correction_offsets={
                queue_id: compared[queue_id] if offset < 0 else offset
                for queue_id, offset in least.items()
                if queue_id in compared and compared[queue_id] >= offset
            }
        )
        return Response(body=body.to_json())

    @handles(Code.QUERY_CONSUME_TIME_SPAN)
    def time_span(self, request: Request) -> Response:
        """Return when the first, the last and the next message of each queue were stored."""
        header = QueryConsumeTimeSpanRequestHeader.decode(request.fields)
        topic = self._broker.topics.get(header.topic)
        if topic is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist{FAQ}")
        when = self._broker.queries.store_time
        spans = []
        for queue_id in range(topic.write_queue_nums):
            end = self._broker.store.max_offset(header.topic, queue_id)
            consumed = self._broker.offsets.get(header.group, header.topic, queue_id)
            first = when(header.topic, queue_id, None) or 0
            next_up = when(header.topic, queue_id, consumed - 1) if consumed else first
            waiting_since = when(header.topic, queue_id, consumed or 0)
            spans.append(
                QueueTimeSpan(
                    message_queue=self._queue(header.topic, queue_id),
                    min_time_stamp=first,
                    max_time_stamp=when(header.topic, queue_id, end - 1) or 0,
                    consume_time_stamp=next_up or 0,
                    delay_time=now_ms() - waiting_since if waiting_since else 0,
                )
            )
        return Response(body=QueryConsumeTimeSpanBody(consume_time_span_set=spans).to_json())

    @handles(Code.QUERY_CONSUME_QUEUE)
    def units(self, request: Request) -> Response:
        """Return entries of a consume queue."""
        header = QueryConsumeQueueRequestHeader.decode(request.fields)
        topic, store = header.topic or "", self._broker.store
        if header.queue_id not in store.topics().get(topic, []):
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{header.queue_id}@{topic} is not exist!")
        low, high = store.min_offset(topic, header.queue_id), store.max_offset(topic, header.queue_id)
        if not low <= header.index < high:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"Index {header.index} of {header.queue_id}@{topic} is not exist! "
                f"There are {low} to {high - 1}",
            )
        count = min(max(header.count, 1), UNITS_MAX)
        group = self._broker.clients.consumer_group(header.consumer_group or "")
        subscription = group.subscriptions.get(topic) if group else None
        body = QueryConsumeQueueResponseBody(
            subscription_data=subscription,
            filter_data=self._filter_text(header.consumer_group, topic, online=subscription is not None),
            max_queue_index=high,
            min_queue_index=low,
            queue_data=[
                ConsumeQueueData(physic_offset=physical, physic_size=size, tags_code=code)
                for physical, size, code in store.queue_units(topic, header.queue_id, header.index, count)
            ],
        )
        return Response(body=body.to_json())

    def _filter_text(self, group: str | None, topic: str, *, online: bool) -> str | None:
        if group is None:
            return None
        if not online:
            return f"{group}@{topic} is not online!"
        found = self._broker.filters.get(topic, group)
        return found.data.to_json(pretty=True).decode() if found else "null"

    @handles(Code.GET_ALL_CONSUMER_OFFSET)
    def all_offsets(self, request: Request) -> Response:
        """Return all offsets, as a slave asks for them."""
        return Response(body=self._broker.offsets.snapshot().to_json())

    @handles(Code.GET_ALL_DELAY_OFFSET)
    def all_delays(self, request: Request) -> Response:
        """Return how far the delay levels are, as a slave asks for it."""
        return Response(body=self._broker.schedule.snapshot().to_json())
