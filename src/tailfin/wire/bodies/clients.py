"""Clients: heartbeats, subscriptions, locks, and what brokers ask of consumers."""

from dataclasses import field
from enum import StrEnum

from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.body import Body, body, named


class ConsumeType(StrEnum):
    """How a group gets its messages: pull, push, pop."""

    CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
    CONSUME_PASSIVELY = "CONSUME_PASSIVELY"
    CONSUME_POP = "CONSUME_POP"


class MessageModel(StrEnum):
    """Whether every member gets all messages or they share them."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(StrEnum):
    """Where a group begins that has no offset yet."""

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = (
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    )
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class MessageRequestMode(StrEnum):
    """How a member asks for messages."""

    PULL = "PULL"
    POP = "POP"


@body
class SubscriptionData(Body):
    """What a group reads of a topic."""

    topic: str | None = None
    sub_string: str | None = None
    tags_set: list[str] = field(default_factory=list)
    code_set: list[int] = field(default_factory=list)
    sub_version: int = 0
    expression_type: str | None = "TAG"
    class_filter_mode: bool = False


@body
class ConsumerData(Body):
    """A consumer group in a heartbeat."""

    group_name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


@body
class ProducerData(Body):
    """A producer group in a heartbeat."""

    group_name: str


@body
class HeartbeatData(Body):
    """What a client tells every broker it uses."""

    client_id: str | None = named("clientID", default=None)
    producer_data_set: list[ProducerData] = field(default_factory=list)
    consumer_data_set: list[ConsumerData] = field(default_factory=list)
    heartbeat_fingerprint: int = 0
    without_sub: bool = named("withoutSub", "isWithoutSub", default=False)


@body
class CheckClientRequestBody(Body):
    """A subscription to try."""

    client_id: str | None = None
    group: str | None = None
    subscription_data: SubscriptionData | None = None
    namespace: str | None = None


@body
class GetConsumerListByGroupResponseBody(Body):
    """Ids of a group's members."""

    consumer_id_list: list[str]


@body
class LockBatchRequestBody(Body):
    """Queues to lock, or to unlock."""

    consumer_group: str | None = None
    client_id: str | None = None
    only_this_broker: bool = False
    mq_set: list[MessageQueue] = field(default_factory=list)


@body
class LockBatchResponseBody(Body):
    """Queues that are locked now."""

    lock_ok_mq_set: list[MessageQueue] = named("lockOKMQSet", default_factory=list)


@body
class ResetOffsetBody(Body):
    """New offsets of a group."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@body
class QueueOffset(Body):
    """A queue with its offset, as C++ clients read it."""

    topic: str
    broker_name: str
    queue_id: int
    offset: int


@body
class ResetOffsetBodyForC(Body):
    """New offsets of a group, for C++ clients."""

    offset_table: list[QueueOffset]


@body
class GetConsumerStatusBody(Body):
    """Where each member of a group is."""

    message_queue_table: dict[MessageQueue, int] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)


@body
class QueryAssignmentRequestBody(Body):
    """Which queues are mine?"""  # it is a question

    topic: str | None = None
    consumer_group: str | None = None
    client_id: str | None = None
    strategy_name: str | None = None
    message_model: MessageModel | None = None


@body
class MessageQueueAssignment(Body):
    """A queue given to a member."""

    message_queue: MessageQueue
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] = field(default_factory=dict)


@body
class QueryAssignmentResponseBody(Body):
    """Queues given to a member."""

    message_queue_assignments: list[MessageQueueAssignment] = field(default_factory=list)


@body
class SetMessageRequestModeRequestBody(Body):
    """How a group shall ask for a topic's messages."""

    topic: str | None = None
    consumer_group: str | None = None
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: int = 0


@body
class MessageRequestModeSerializeWrapper(Body):
    """Modes by topic and group."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )


@body
class BatchAck(Body):
    """Acknowledged messages of one pop, as bits from a start offset."""

    consumer_group: str = named("c", "consumerGroup")
    topic: str = named("t", "topic")
    retry: str = named("r", "retry")
    start_offset: int = named("so", "startOffset")
    queue_id: int = named("q", "queueId")
    revive_queue_id: int = named("rq", "reviveQueueId")
    pop_time: int = named("pt", "popTime")
    invisible_time: int = named("it", "invisibleTime")
    bit_set: bytes = named("b", "bitSet")


@body
class BatchAckMessageRequestBody(Body):
    """Acknowledgements of several pops."""

    broker_name: str | None = None
    acks: list[BatchAck] = field(default_factory=list)
