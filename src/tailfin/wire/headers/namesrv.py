"""The name server: routes, brokers, key-value config."""

from tailfin.wire.header import Header, Int, Long, TopicHeader, header

ZONE_NAME, ZONE_MODE = "__ZONE_NAME", "__ZONE_MODE"
"""Ext fields beside a header: the zone that a client or a broker is in, and whether it minds."""


@header
class AddWritePermOfBrokerRequestHeader(Header):
    """Request of ADD_WRITE_PERM_OF_BROKER."""

    broker_name: str


@header
class AddWritePermOfBrokerResponseHeader(Header):
    """Answer to ADD_WRITE_PERM_OF_BROKER."""

    add_topic_count: Int


@header
class BrokerHeartbeatRequestHeader(Header):
    """Request of BROKER_HEARTBEAT."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Long | None = None
    epoch: Int | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    heartbeat_timeout_mills: Long | None = None
    election_priority: Int | None = None


@header
class DeleteKVConfigRequestHeader(Header):
    """Request of DELETE_KV_CONFIG."""

    namespace: str
    key: str


@header
class DeleteTopicFromNamesrvRequestHeader(TopicHeader):
    """Request of DELETE_TOPIC_IN_NAMESRV."""

    topic: str
    cluster_name: str | None = None


@header
class GetBrokerMemberGroupRequestHeader(Header):
    """Request of GET_BROKER_MEMBER_GROUP."""

    cluster_name: str
    broker_name: str


@header
class GetKVConfigRequestHeader(Header):
    """Request of GET_KV_CONFIG."""

    namespace: str
    key: str


@header
class GetKVConfigResponseHeader(Header):
    """Answer to GET_KV_CONFIG."""

    value: str | None = None


@header
class GetKVListByNamespaceRequestHeader(Header):
    """Request of GET_KVLIST_BY_NAMESPACE."""

    namespace: str


@header
class GetRouteInfoRequestHeader(TopicHeader):
    """Request of GET_ROUTEINFO_BY_TOPIC."""

    topic: str
    accept_standard_json_only: bool | None = None


@header
class GetTopicsByClusterRequestHeader(Header):
    """Request of GET_TOPICS_BY_CLUSTER."""

    cluster: str


@header
class NotifyMinBrokerIdChangeRequestHeader(Header):
    """Request of NOTIFY_MIN_BROKER_ID_CHANGE."""

    min_broker_id: Long | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


@header
class PutKVConfigRequestHeader(Header):
    """Request of PUT_KV_CONFIG."""

    namespace: str
    key: str
    value: str


@header
class QueryDataVersionRequestHeader(Header):
    """Request of QUERY_DATA_VERSION."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


@header
class QueryDataVersionResponseHeader(Header):
    """Answer to QUERY_DATA_VERSION."""

    changed: bool


@header
class RegisterBrokerRequestHeader(Header):
    """Request of REGISTER_BROKER."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Long
    heartbeat_timeout_millis: Long | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Int = 0
    only_changes: bool | None = None
    """Tailfin's own: whether the body holds but the topics that changed."""


@header
class RegisterBrokerResponseHeader(Header):
    """Answer to REGISTER_BROKER."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@header
class RegisterTopicRequestHeader(TopicHeader):
    """Request of REGISTER_TOPIC_IN_NAMESRV."""

    topic: str


@header
class UnRegisterBrokerRequestHeader(Header):
    """Request of UNREGISTER_BROKER."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


@header
class WipeWritePermOfBrokerRequestHeader(Header):
    """Request of WIPE_WRITE_PERM_OF_BROKER."""

    broker_name: str


@header
class WipeWritePermOfBrokerResponseHeader(Header):
    """Answer to WIPE_WRITE_PERM_OF_BROKER."""

    wipe_topic_count: Int
