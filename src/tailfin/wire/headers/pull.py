"""Pulling, and offsets."""

from tailfin.wire.header import BoundaryType, Header, Int, Long, TopicHeader, header


@header
class GetEarliestMsgStoretimeRequestHeader(TopicHeader):
    """Request of GET_EARLIEST_MSG_STORETIME."""

    topic: str
    queue_id: Int


@header
class GetEarliestMsgStoretimeResponseHeader(Header):
    """Answer to GET_EARLIEST_MSG_STORETIME."""

    timestamp: Long


@header
class GetMaxOffsetRequestHeader(TopicHeader):
    """Request of GET_MAX_OFFSET."""

    topic: str
    queue_id: Int
    committed: bool = True


@header
class GetMaxOffsetResponseHeader(Header):
    """Answer to GET_MAX_OFFSET."""

    offset: Long


@header
class GetMinOffsetRequestHeader(TopicHeader):
    """Request of GET_MIN_OFFSET."""

    topic: str
    queue_id: Int


@header
class GetMinOffsetResponseHeader(Header):
    """Answer to GET_MIN_OFFSET."""

    offset: Long


@header
class PullMessageRequestHeader(TopicHeader):
    """Request of PULL_MESSAGE, LITE_PULL_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int
    commit_offset: Long
    suspend_timeout_millis: Long
    subscription: str | None = None
    sub_version: Long
    expression_type: str | None = None
    max_msg_bytes: Int | None = None
    request_source: Int | None = None
    proxy_froward_client_id: str | None = None


@header
class PullMessageResponseHeader(Header):
    """Answer to PULL_MESSAGE, LITE_PULL_MESSAGE."""

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None
    forbidden_type: Int | None = None


@header
class QueryConsumerOffsetRequestHeader(TopicHeader):
    """Request of QUERY_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Int
    set_zero_if_not_found: bool | None = None


@header
class QueryConsumerOffsetResponseHeader(Header):
    """Answer to QUERY_CONSUMER_OFFSET."""

    offset: Long


@header
class SearchOffsetRequestHeader(TopicHeader):
    """Request of SEARCH_OFFSET_BY_TIMESTAMP."""

    topic: str
    queue_id: Int
    timestamp: Long
    boundary_type: BoundaryType | None = None


@header
class SearchOffsetResponseHeader(Header):
    """Answer to SEARCH_OFFSET_BY_TIMESTAMP."""

    offset: Long


@header
class UpdateConsumerOffsetRequestHeader(TopicHeader):
    """Request of UPDATE_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Int
    commit_offset: Long
