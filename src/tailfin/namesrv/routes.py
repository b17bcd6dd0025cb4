"""Routes of topics as clients get them, kept as bytes until something changes."""

from dataclasses import replace

from tailfin.config.namesrv import NamesrvConfig
from tailfin.namesrv.tables import MASTER_ID, Address, Tables
from tailfin.wire.bodies.routes import BrokerData, QueueData, TopicRouteData
from tailfin.wire.bodies.topics import Perm

MEMBER_TOPIC_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Topics by which the members of a broker find each other: they must see who is master."""

_KEPT_MAX = 100_000
"""Most answers kept; more topics than that are asked for rarely."""


class Routes:
    """Answers to requests for routes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept: dict[tuple[str, str | None, bool], tuple[int | None, bytes]] = {}
        self._kept_for: tuple[int, NamesrvConfig] | None = None

    def encoded(
        self, topic: str, config: NamesrvConfig, order: str | None, *, standard: bool
    ) -> bytes | None:
        """Return a topic's route as JSON, or None; it is built once for every change that it shows."""
        kept_for = self._kept_for
        if kept_for is None or kept_for[0] != self._tables.changes or kept_for[1] is not config:
            self._kept.clear()
            self._kept_for = (self._tables.changes, config)
        key = (topic, order, standard)
        revision = self._tables.revisions.get(topic)
        kept = self._kept.get(key)
        if kept and kept[0] == revision:
            return kept[1]
        route = build(self._tables, topic, config)
        if route is None:
            # Names that do not exist are as many as a client likes: nothing is kept of them.
            self._kept.pop(key, None)
            return None
        if len(self._kept) >= _KEPT_MAX:
            self._kept.clear()
        encoded = replace(route, order_topic_conf=order).to_json(standard=standard)
        self._kept[key] = revision, encoded
        return encoded


def build(tables: Tables, topic: str, config: NamesrvConfig) -> TopicRouteData | None:
    """Put a topic's route together; None when no live broker has the topic."""
    queues = list(tables.queues.get(topic, {}).values())
    found = [tables.brokers.get(each.broker_name) for each in queues]
    brokers = [broker.data() for broker in found if broker]
    if not brokers:
        return None
    if config.supportActingMaster and not topic.startswith(MEMBER_TOPIC_PREFIX):
        brokers = [_with_acting_master(each, queues) for each in brokers]
    filters = {
        address: servers
        for broker in brokers
        for address in broker.broker_addrs.values()
        if (servers := tables.filter_servers.get(Address(broker.cluster or "", address)))
    }
    return TopicRouteData(
        queue_datas=queues,
        broker_datas=brokers,
        filter_server_table=filters,
        topic_queue_mapping_by_broker=tables.mappings.get(topic),
    )


def _with_acting_master(broker: BrokerData, queues: list[QueueData]) -> BrokerData:
    """Show the smallest id as master where there is none and nothing can be written anyway."""
    members = broker.broker_addrs
    if not members or MASTER_ID in members or not broker.enable_acting_master:
        return broker
    if any(each.broker_name == broker.broker_name and each.perm & Perm.WRITE for each in queues):
        return broker
    least = min(members)
    others = {key: value for key, value in members.items() if key != least}
    return replace(broker, broker_addrs={MASTER_ID: members[least], **others})


def in_zone(route: TopicRouteData, zone: str) -> TopicRouteData:
    """Keep the brokers of a zone, and those whose master is down: near or far is no question then."""
    kept = [
        each
        for each in route.broker_datas
        if MASTER_ID not in each.broker_addrs or (each.zone_name or "").lower() == zone.lower()
    ]
    names = {each.broker_name for each in kept}
    dropped = {
        address
        for each in route.broker_datas
        if each.broker_name not in names
        for address in each.broker_addrs.values()
    }
    return replace(
        route,
        broker_datas=kept,
        queue_datas=[each for each in route.queue_datas if each.broker_name in names],
        filter_server_table={
            key: value for key, value in route.filter_server_table.items() if key not in dropped
        },
    )
