"""Lists made of the tables: topics of every kind, clusters, members."""

from collections.abc import Callable

from tailfin.namesrv.tables import Tables
from tailfin.wire.bodies.common import TopicList
from tailfin.wire.bodies.routes import BrokerMemberGroup, ClusterInfo
from tailfin.wire.bodies.topics import TopicSysFlag


def all_topics(tables: Tables) -> TopicList:
    """Return every topic."""
    return TopicList(topic_list=list(tables.queues))


def topics_of_cluster(tables: Tables, cluster: str) -> TopicList:
    """Return the topics that some broker of a cluster has."""
    names = tables.clusters.get(cluster, set())
    return TopicList(
        topic_list=[topic for topic, of_topic in tables.queues.items() if names & of_topic.keys()]
    )


def system_topics(tables: Tables) -> TopicList:
    """Return the names of clusters and brokers, which are topics too, and some broker's address."""
    topics = [name for cluster, names in tables.clusters.items() for name in (cluster, *sorted(names))]
    addresses = (each for broker in tables.brokers.values() for each in broker.members.values())
    return TopicList(topic_list=topics, broker_addr=next(addresses, None))


def unit_topics(tables: Tables) -> TopicList:
    """Return the topics of units."""
    return _by_flag(tables, lambda flag: bool(flag & TopicSysFlag.UNIT))


def unit_sub_topics(tables: Tables) -> TopicList:
    """Return the topics that units subscribe to."""
    return _by_flag(tables, lambda flag: bool(flag & TopicSysFlag.UNIT_SUB))


def unit_sub_of_no_unit_topics(tables: Tables) -> TopicList:
    """Return the topics that units subscribe to and that are of none."""
    both = TopicSysFlag.UNIT | TopicSysFlag.UNIT_SUB
    return _by_flag(tables, lambda flag: flag & both == TopicSysFlag.UNIT_SUB)


def _by_flag(tables: Tables, matches: Callable[[int], bool]) -> TopicList:
    flags = ((topic, next(iter(of_topic.values()))) for topic, of_topic in tables.queues.items() if of_topic)
    return TopicList(topic_list=[topic for topic, data in flags if matches(data.topic_sys_flag)])


def cluster_info(tables: Tables) -> ClusterInfo:
    """Return every broker and every cluster."""
    return ClusterInfo(
        broker_addr_table={name: broker.data() for name, broker in tables.brokers.items()},
        cluster_addr_table={cluster: sorted(names) for cluster, names in tables.clusters.items()},
    )


def member_group(tables: Tables, cluster: str, name: str) -> BrokerMemberGroup:
    """Return the live members of a broker."""
    broker = tables.brokers.get(name)
    members = dict(broker.members) if broker and broker.cluster == cluster else {}
    return BrokerMemberGroup(cluster=cluster, broker_name=name, broker_addrs=members)
