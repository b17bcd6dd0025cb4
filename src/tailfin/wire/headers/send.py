"""Sending: messages, replies, messages handed back, transactions."""

from tailfin.wire.header import Header, Int, Long, RpcHeader, TopicHeader, header, wire


@header
class CheckTransactionStateRequestHeader(RpcHeader):
    """Request of CHECK_TRANSACTION_STATE."""

    topic: str | None = None
    tran_state_table_offset: Long
    commit_log_offset: Long
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


@header
class ConsumerSendMsgBackRequestHeader(RpcHeader):
    """Request of CONSUMER_SEND_MSG_BACK."""

    offset: Long
    group: str
    delay_level: Int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int | None = None


@header
class EndTransactionRequestHeader(RpcHeader):
    """Request of END_TRANSACTION."""

    topic: str | None = None
    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: Int
    from_transaction_check: bool = False
    msg_id: str
    transaction_id: str | None = None


@header
class RecallMessageRequestHeader(TopicHeader):
    """Request of RECALL_MESSAGE."""

    producer_group: str | None = None
    topic: str
    recall_handle: str


@header
class RecallMessageResponseHeader(Header):
    """Answer to RECALL_MESSAGE."""

    msg_id: str


@header
class ReplyMessageRequestHeader(TopicHeader):
    """Request of PUSH_REPLY_MESSAGE_TO_CLIENT."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool = False
    born_host: str
    store_host: str
    store_timestamp: Long = 0


@header
class ResumeCheckHalfMessageRequestHeader(Header):
    """Request of RESUME_CHECK_HALF_MESSAGE."""

    topic: str | None = None
    msg_id: str | None = None


@header
class SendMessageRequestHeader(TopicHeader):
    """Request of every kind of send.

    SEND_MESSAGE and SEND_REPLY_MESSAGE carry the long names; SEND_MESSAGE_V2, SEND_BATCH_MESSAGE and
    SEND_REPLY_MESSAGE_V2 the short ones.
    """

    producer_group: str = wire(short="a")
    topic: str = wire(short="b")
    default_topic: str = wire(short="c")
    default_topic_queue_nums: Int = wire(short="d")
    queue_id: Int = wire(short="e")
    sys_flag: Int = wire(short="f")
    born_timestamp: Long = wire(short="g")
    flag: Int = wire(short="h")
    properties: str | None = wire(short="i", default=None)
    reconsume_times: Int | None = wire(short="j", default=None)
    unit_mode: bool | None = wire(short="k", default=None)
    batch: bool | None = wire(short="m", default=None)
    max_reconsume_times: Int | None = wire(short="l", default=None)
    bname: str | None = wire(short="n", default=None)


@header
class SendMessageResponseHeader(Header):
    """Answer to every kind of send."""

    msg_id: str
    queue_id: Int
    queue_offset: Long
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
