"""Consuming without owning a queue: pop, acknowledge, notify."""

from tailfin.wire.header import Header, Int, Long, TopicHeader, header


@header
class AckMessageRequestHeader(TopicHeader):
    """Request of ACK_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long


@header
class ChangeInvisibleTimeRequestHeader(TopicHeader):
    """Request of CHANGE_MESSAGE_INVISIBLETIME."""

    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long
    invisible_time: Long


@header
class ChangeInvisibleTimeResponseHeader(Header):
    """Answer to CHANGE_MESSAGE_INVISIBLETIME."""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: Int = 0


@header
class NotificationRequestHeader(TopicHeader):
    """Request of NOTIFICATION."""

    consumer_group: str
    topic: str
    queue_id: Int = 0
    poll_time: Long = 0
    born_time: Long = 0
    order: bool = False
    attempt_id: str | None = None


@header
class NotificationResponseHeader(Header):
    """Answer to NOTIFICATION."""

    has_msg: bool = False
    polling_full: bool = False


@header
class PeekMessageRequestHeader(TopicHeader):
    """Request of PEEK_MESSAGE."""

    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    consumer_group: str


@header
class PollingInfoRequestHeader(TopicHeader):
    """Request of POLLING_INFO."""

    consumer_group: str
    topic: str
    queue_id: Int = 0


@header
class PollingInfoResponseHeader(Header):
    """Answer to POLLING_INFO."""

    polling_num: Int = 0


@header
class PopMessageRequestHeader(TopicHeader):
    """Request of POP_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: Int = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


@header
class PopMessageResponseHeader(Header):
    """Answer to POP_MESSAGE, PEEK_MESSAGE."""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: Int = 0
    rest_num: Long = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None
