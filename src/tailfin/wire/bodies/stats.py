"""What admin tools read of a broker: progress, connections, queues, figures."""

from dataclasses import field
from enum import StrEnum

from tailfin.wire.bodies.clients import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData
from tailfin.wire.bodies.common import DataVersion, MessageQueue
from tailfin.wire.body import Body, body, named


@body
class Connection(Body):
    """A client's connection."""

    client_id: str | None = None
    client_addr: str | None = None
    language: str | None = None
    version: int = 0


@body
class ConsumerConnection(Body):
    """The members of a consumer group and what they read."""

    connection_set: list[Connection] = field(default_factory=list)
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


@body
class ProducerConnection(Body):
    """The members of a producer group."""

    connection_set: list[Connection] = field(default_factory=list)


@body
class ProducerInfo(Body):
    """A producer and when it was last heard of."""

    client_id: str | None = None
    remote_ip: str | None = named("remoteIP", default=None)
    language: str | None = None
    version: int = 0
    last_update_timestamp: int = 0


@body
class ProducerTableInfo(Body):
    """All producers by group."""

    data: dict[str, list[ProducerInfo]] = field(default_factory=dict)


@body
class OffsetWrapper(Body):
    """A queue's end and how far a group is in it."""

    broker_offset: int = 0
    consumer_offset: int = 0
    pull_offset: int = 0
    last_timestamp: int = 0


@body
class ConsumeStats(Body):
    """A group's progress."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0


@body
class ConsumeStatsList(Body):
    """The progress of all groups of a broker."""

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = field(default_factory=list)
    broker_addr: str | None = None
    total_diff: int = 0
    total_inflight_diff: int = 0


@body
class TopicOffset(Body):
    """The ends of a queue and its last message's time."""

    min_offset: int = 0
    max_offset: int = 0
    last_update_timestamp: int = 0


@body
class TopicStatsTable(Body):
    """The queues of a topic on a broker."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    topic_put_tps: float = 0.0


@body
class ProcessQueueInfo(Body):
    """What a consumer holds of a queue."""

    commit_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_count: int = 0
    cached_msg_size_in_mib: int = named("cachedMsgSizeInMiB", default=0)
    transaction_msg_min_offset: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_count: int = 0
    locked: bool = False
    try_unlock_times: int = 0
    last_lock_timestamp: int = 0
    droped: bool = False
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


@body
class PopProcessQueueInfo(Body):
    """What a consumer holds of a queue it pops from."""

    wait_ack_count: int = 0
    droped: bool = False
    last_pop_timestamp: int = 0


@body
class ConsumeStatus(Body):
    """How fast a consumer works on a topic."""

    pull_rt: float = named("pullRT", default=0.0)
    pull_tps: float = named("pullTPS", default=0.0)
    consume_rt: float = named("consumeRT", default=0.0)
    consume_ok_tps: float = named("consumeOKTPS", default=0.0)
    consume_failed_tps: float = named("consumeFailedTPS", default=0.0)
    consume_failed_msgs: int = 0


@body
class ConsumerRunningInfo(Body):
    """All a consumer tells of itself."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: list[SubscriptionData] = field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    mq_pop_table: dict[MessageQueue, PopProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    user_consumer_info: dict[str, str] = field(default_factory=dict)
    jstack: str | None = None


class CMResult(StrEnum):
    """How a message ended that a consumer was told to consume."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


@body
class ConsumeMessageDirectlyResult(Body):
    """The end of such a message."""

    order: bool = False
    auto_commit: bool = True
    consume_result: CMResult | None = None
    remark: str | None = None
    spent_time_mills: int = 0


@body
class ConsumeQueueData(Body):
    """An entry of a consume queue."""

    physic_offset: int = 0
    physic_size: int = 0
    tags_code: int = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


@body
class QueryConsumeQueueResponseBody(Body):
    """Entries of a consume queue, judged by a group's filter."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: list[ConsumeQueueData] = field(default_factory=list)
    max_queue_index: int = 0
    min_queue_index: int = 0


@body
class QuerySubscriptionResponseBody(Body):
    """What a group reads of a topic."""

    subscription_data: SubscriptionData | None = None
    group: str | None = None
    topic: str | None = None


@body
class QueueTimeSpan(Body):
    """The times of a queue's first, last and next message; the texts are for people."""

    message_queue: MessageQueue | None = None
    min_time_stamp: int = 0
    max_time_stamp: int = 0
    consume_time_stamp: int = 0
    delay_time: int = 0
    min_time_stamp_str: str | None = None
    max_time_stamp_str: str | None = None
    consume_time_stamp_str: str | None = None


@body
class QueryConsumeTimeSpanBody(Body):
    """The times of all queues of a topic."""

    consume_time_span_set: list[QueueTimeSpan] = field(default_factory=list)


@body
class BrokerStatsItem(Body):
    """A figure over some time."""

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


@body
class BrokerStatsData(Body):
    """A figure over the last minute, hour and day."""

    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None


@body
class TimerMetric(Body):
    """Messages of a topic that wait for their time."""

    count: int = 0
    time_stamp: int = 0


@body
class TimerMetricsSerializeWrapper(Body):
    """Waiting messages by topic."""

    timing_count: dict[str, TimerMetric] = field(default_factory=dict)
    data_version: DataVersion | None = None


@body
class CheckRocksdbCqWriteResult(Body):
    """How far the copy of the queues into RocksDB is: 0 done, 1 not, 2 under way, 3 failed."""

    check_result: str | None = None
    check_status: int = 0
