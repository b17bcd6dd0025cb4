"""How a broker's registration changes the tables."""

import logging
from dataclasses import dataclass, replace

from tailfin.namesrv.tables import MASTER_ID, Address, Broker, Life, Tables
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.routes import QueueData
from tailfin.wire.bodies.topics import Perm, TopicConfig, TopicConfigAndMappingSerializeWrapper
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.namesrv")

DEFAULT_TIMEOUT_MS = 120_000
"""Silence after which a broker is taken for dead that named no time of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a broker says of itself."""

    cluster: str
    name: str
    address: str
    broker_id: int
    ha_address: str
    topics: TopicConfigAndMappingSerializeWrapper
    filter_servers: list[str] | None = None
    connection: int | None = None
    timeout_ms: int | None = None
    acting_master: bool | None = None
    """None: a broker from before there were acting masters."""
    zone: str | None = None
    only_changes: bool = False
    """Whether the topics are not all that the broker has."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What the broker is told, and whether it is now the member with the smallest id."""

    ha_address: str | None = None
    master_address: str | None = None
    least_id_changed: bool = False


def register(tables: Tables, new: Registration, now_ms: int, *, drop_missing: bool = False) -> Registered:
    """Take a registration; `drop_missing` removes topics that the broker no longer has.

    Raises:
        RemotingError: the broker is new and does not say all its topics, or has but one, which a broker that
            lost its files would say.
    """
    where = Address(new.cluster, new.address)
    known = tables.brokers.get(new.name)
    if known and _outdated(tables, known, new):
        tables.lives.pop(where, None)
        return Registered()
    first = known is None or new.broker_id not in known.members
    if first and (new.only_changes or len(new.topics.topic_config_table) == 1):
        log.warning("%s registers with topics %s alone", new.address, list(new.topics.topic_config_table))
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "register broker failed")
    broker = _broker(tables, new)
    least_before = broker.least_id
    _drop_former_ids(tables, broker, new)
    if broker.members.get(new.broker_id) != new.address:
        broker.members[new.broker_id] = new.address
        tables.changes += 1
    _take_topics(tables, broker, new, first=first, drop_missing=drop_missing)
    tables.lives[where] = Life(
        now_ms,
        new.timeout_ms or DEFAULT_TIMEOUT_MS,
        new.topics.data_version,
        new.connection,
        new.ha_address,
        new.topics,
    )
    _take_filter_servers(tables, where, new.filter_servers)
    least_changed = least_before is not None and new.broker_id < least_before
    return _answer(tables, broker, new, least_changed)


def _broker(tables: Tables, new: Registration) -> Broker:
    """Return the broker's entry with its marks up to date."""
    tables.clusters.setdefault(new.cluster, set()).add(new.name)
    broker = tables.brokers.get(new.name)
    if broker is None:
        broker = tables.brokers[new.name] = Broker(new.cluster, new.name)
        log.info("broker %s of cluster %s is new", new.name, new.cluster)
    if (broker.acting_master, broker.zone) != (bool(new.acting_master), new.zone):
        broker.acting_master, broker.zone = bool(new.acting_master), new.zone
        tables.changes += 1
    return broker


def _outdated(tables: Tables, broker: Broker, new: Registration) -> bool:
    """Whether another process has this id and has been through more changes of role."""
    holder = broker.members.get(new.broker_id)
    if holder is None or holder == new.address:
        return False
    life = tables.lives.get(Address(broker.cluster, holder))
    if life is None or life.data_version.state_version <= new.topics.data_version.state_version:
        return False
    log.warning("%s is not taken for %s %d: %s has newer state", new.address, new.name, new.broker_id, holder)
    return True


def _drop_former_ids(tables: Tables, broker: Broker, new: Registration) -> None:
    """Forget other ids of this address: a slave that became master, say."""
    for former in [key for key, value in broker.members.items() if value == new.address]:
        if former != new.broker_id:
            del broker.members[former]
            tables.changes += 1


def _take_topics(
    tables: Tables, broker: Broker, new: Registration, *, first: bool, drop_missing: bool
) -> None:
    master = new.broker_id == MASTER_ID
    prime_slave = new.acting_master is not None and not master and new.broker_id == broker.least_id
    if not (master or prime_slave):
        return
    wrapper = new.topics
    life = tables.lives.get(Address(new.cluster, new.address))
    if not first and life and life.topics is wrapper and new.name not in tables.touched:
        # Said before, word for word, and nobody else has had a hand in it: there is nothing to go through.
        return
    table = wrapper.topic_config_table
    if drop_missing and not new.only_changes and not wrapper.topic_queue_mapping_info_map:
        for topic in tables.topics_of(new.name):
            if topic not in table:
                tables.drop_queues(topic, new.name)
    changed = first or _changed(tables, new)
    keep = ~int(Perm.WRITE) if prime_slave and broker.acting_master else -1
    for topic, config in table.items():
        if changed or new.name not in tables.queues.get(topic, ()):
            tables.put_queues(topic, _queues(new.name, config, keep))
    if changed:
        for topic, mapping in wrapper.topic_queue_mapping_info_map.items():
            tables.mappings.setdefault(topic, {})[mapping.bname or new.name] = mapping
            tables.topic_changed(topic)
    tables.touched.discard(new.name)


def _changed(tables: Tables, new: Registration) -> bool:
    return changed(tables.data_version(Address(new.cluster, new.address)), new.topics.data_version)


def changed(known: DataVersion | None, told: DataVersion) -> bool:
    """Whether a broker's topics are not those it registered last."""
    return known is None or known != told


def _queues(broker_name: str, config: TopicConfig, keep: int) -> QueueData:
    return QueueData(
        broker_name=broker_name,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm & keep,
        topic_sys_flag=config.topic_sys_flag,
    )


def _take_filter_servers(tables: Tables, where: Address, servers: list[str] | None) -> None:
    if servers is None or tables.filter_servers.get(where, []) == servers:
        return
    tables.changes += 1
    if servers:
        tables.filter_servers[where] = servers
    else:
        tables.filter_servers.pop(where, None)


def _answer(tables: Tables, broker: Broker, new: Registration, least_changed: bool) -> Registered:
    master = broker.members.get(MASTER_ID)
    life = tables.lives.get(Address(new.cluster, master)) if master else None
    if new.broker_id == MASTER_ID or life is None:
        return Registered(least_id_changed=least_changed)
    return Registered(life.ha_address, master, least_changed)


def put_topic(tables: Tables, topic: str, queues: list[QueueData]) -> None:
    """Give brokers a topic they have not registered; unknown brokers are left out."""
    for data in queues:
        if data.broker_name in tables.brokers:
            tables.put_queues(topic, replace(data))
        else:
            log.warning("topic %s is not given to %s: no such broker", topic, data.broker_name)
