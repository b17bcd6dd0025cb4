"""Clients of a group: who is there, and what a broker asks of them."""

from tailfin.wire.header import Int, Long, RpcHeader, TopicHeader, header, wire


@header
class ConsumeMessageDirectlyResultRequestHeader(TopicHeader):
    """Request of CONSUME_MESSAGE_DIRECTLY."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None


@header
class GetConsumerConnectionListRequestHeader(RpcHeader):
    """Request of GET_CONSUMER_CONNECTION_LIST."""

    consumer_group: str


@header
class GetConsumerListByGroupRequestHeader(RpcHeader):
    """Request of GET_CONSUMER_LIST_BY_GROUP."""

    consumer_group: str


@header
class GetConsumerRunningInfoRequestHeader(RpcHeader):
    """Request of GET_CONSUMER_RUNNING_INFO."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


@header
class GetConsumerStatusRequestHeader(TopicHeader):
    """Request of GET_CONSUMER_STATUS_FROM_CLIENT, INVOKE_BROKER_TO_GET_CONSUMER_STATUS."""

    topic: str
    group: str
    client_addr: str | None = None


@header
class GetProducerConnectionListRequestHeader(RpcHeader):
    """Request of GET_PRODUCER_CONNECTION_LIST."""

    producer_group: str


@header
class NotifyConsumerIdsChangedRequestHeader(RpcHeader):
    """Request of NOTIFY_CONSUMER_IDS_CHANGED."""

    consumer_group: str


@header
class ResetOffsetRequestHeader(TopicHeader):
    """Request of RESET_CONSUMER_CLIENT_OFFSET, INVOKE_BROKER_TO_RESET_OFFSET."""

    group: str
    topic: str
    queue_id: Int = -1
    offset: Long | None = None
    timestamp: Long = 0
    is_force: bool = False


@header
class UnregisterClientRequestHeader(RpcHeader):
    """Request of UNREGISTER_CLIENT."""

    client_id: str = wire("clientID")
    producer_group: str | None = None
    consumer_group: str | None = None
