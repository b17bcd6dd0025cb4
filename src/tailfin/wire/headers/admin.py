"""Looking at and changing a broker: statistics, queries, offsets of groups."""

from tailfin.wire.header import Header, Int, Long, RpcHeader, TopicHeader, header


@header
class CheckRocksdbCqWriteProgressRequestHeader(Header):
    """Request of CHECK_ROCKSDB_CQ_WRITE_PROGRESS."""

    topic: str
    check_store_time: Long = 0


@header
class CloneGroupOffsetRequestHeader(RpcHeader):
    """Request of CLONE_GROUP_OFFSET."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


@header
class ExportRocksDBConfigToJsonRequestHeader(Header):
    """Request of EXPORT_ROCKSDB_CONFIG_TO_JSON."""

    config_type: str


@header
class GetBrokerConfigResponseHeader(Header):
    """Answer to GET_BROKER_CONFIG."""

    version: str


@header
class GetConsumeStatsInBrokerHeader(Header):
    """Request of GET_BROKER_CONSUME_STATS."""

    is_order: bool = False


@header
class GetConsumeStatsRequestHeader(TopicHeader):
    """Request of GET_CONSUME_STATS."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


@header
class QueryConsumeQueueRequestHeader(TopicHeader):
    """Request of QUERY_CONSUME_QUEUE."""

    topic: str | None = None
    queue_id: Int = 0
    index: Long = 0
    count: Int = 0
    consumer_group: str | None = None


@header
class QueryConsumeTimeSpanRequestHeader(TopicHeader):
    """Request of QUERY_CONSUME_TIME_SPAN."""

    topic: str
    group: str


@header
class QueryCorrectionOffsetHeader(TopicHeader):
    """Request of QUERY_CORRECTION_OFFSET."""

    filter_groups: str | None = None
    compare_group: str
    topic: str


@header
class QueryMessageRequestHeader(TopicHeader):
    """Request of QUERY_MESSAGE."""

    topic: str
    key: str
    max_num: Int
    begin_timestamp: Long
    end_timestamp: Long
    index_type: str | None = None
    last_key: str | None = None


@header
class QueryMessageResponseHeader(Header):
    """Answer to QUERY_MESSAGE."""

    index_last_update_timestamp: Long
    index_last_update_phyoffset: Long


@header
class ViewBrokerStatsDataRequestHeader(Header):
    """Request of VIEW_BROKER_STATS_DATA."""

    stats_name: str
    stats_key: str


@header
class ViewMessageRequestHeader(Header):
    """Request of VIEW_MESSAGE_BY_ID."""

    topic: str | None = None
    offset: Long
