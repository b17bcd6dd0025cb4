"""Routes: where a topic's queues are, and which brokers a cluster has."""

from dataclasses import field

from tailfin.wire.bodies.topics import TopicQueueMappingInfo
from tailfin.wire.body import Body, body


@body
class QueueData(Body):
    """A topic's queues on a broker."""

    broker_name: str
    read_queue_nums: int = 0
    write_queue_nums: int = 0
    perm: int = 0
    topic_sys_flag: int = 0


@body
class BrokerData(Body):
    """Addresses of a broker's members by id; 0 is the master."""

    cluster: str | None = None
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool = False
    zone_name: str | None = None


@body
class TopicRouteData(Body):
    """All a client needs to find a topic."""

    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None


@body
class ClusterInfo(Body):
    """Every broker, and the brokers' names by cluster."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, list[str]] = field(default_factory=dict)


@body
class BrokerMemberGroup(Body):
    """The live members of a broker."""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[int, str] = field(default_factory=dict)


@body
class GetBrokerMemberGroupResponseBody(Body):
    """Answer to GET_BROKER_MEMBER_GROUP."""

    broker_member_group: BrokerMemberGroup | None = None
