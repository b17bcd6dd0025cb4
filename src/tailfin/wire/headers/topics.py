"""Topics and subscription groups."""

from tailfin.wire.header import Header, Int, RpcHeader, TopicHeader, header


@header
class CreateTopicRequestHeader(TopicHeader):
    """Request of UPDATE_AND_CREATE_TOPIC, UPDATE_AND_CREATE_STATIC_TOPIC."""

    topic: str
    default_topic: str
    read_queue_nums: Int
    write_queue_nums: Int
    perm: Int
    topic_filter_type: str
    topic_sys_flag: Int | None = None
    order: bool = False
    attributes: str | None = None
    force: bool = False


@header
class DeleteSubscriptionGroupRequestHeader(RpcHeader):
    """Request of DELETE_SUBSCRIPTIONGROUP."""

    group_name: str
    clean_offset: bool = False


@header
class DeleteTopicRequestHeader(TopicHeader):
    """Request of DELETE_TOPIC_IN_BROKER."""

    topic: str


@header
class GetAllSubscriptionGroupRequestHeader(Header):
    """Request of GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""

    group_seq: Int | None = None
    data_version: str | None = None
    max_group_num: Int | None = None


@header
class GetAllSubscriptionGroupResponseHeader(Header):
    """Answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""

    total_group_num: Int


@header
class GetAllTopicConfigRequestHeader(Header):
    """Request of GET_ALL_TOPIC_CONFIG."""

    topic_seq: Int | None = None
    data_version: str | None = None
    max_topic_num: Int | None = None


@header
class GetAllTopicConfigResponseHeader(Header):
    """Answer to GET_ALL_TOPIC_CONFIG."""

    total_topic_num: Int


@header
class GetSubscriptionGroupConfigRequestHeader(RpcHeader):
    """Request of GET_SUBSCRIPTIONGROUP_CONFIG."""

    group: str


@header
class GetTopicConfigRequestHeader(TopicHeader):
    """Request of GET_TOPIC_CONFIG."""

    topic: str


@header
class GetTopicStatsInfoRequestHeader(TopicHeader):
    """Request of GET_TOPIC_STATS_INFO."""

    topic: str


@header
class QuerySubscriptionByConsumerRequestHeader(TopicHeader):
    """Request of QUERY_SUBSCRIPTION_BY_CONSUMER."""

    group: str
    topic: str | None = None


@header
class QueryTopicConsumeByWhoRequestHeader(TopicHeader):
    """Request of QUERY_TOPIC_CONSUME_BY_WHO."""

    topic: str


@header
class QueryTopicsByConsumerRequestHeader(RpcHeader):
    """Request of QUERY_TOPICS_BY_CONSUMER."""

    group: str


@header
class UpdateGroupForbiddenRequestHeader(TopicHeader):
    """Request of UPDATE_AND_GET_GROUP_FORBIDDEN."""

    group: str
    topic: str
    readable: bool | None = None
