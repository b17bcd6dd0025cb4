"""How brokers leave the tables: on request, by a closed connection, by silence."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tailfin.namesrv.tables import MASTER_ID, Address, Tables
from tailfin.wire.bodies.topics import Perm

log = logging.getLogger("tailfin.namesrv")


class Leaving(NamedTuple):
    """A broker process to remove."""

    cluster: str
    name: str
    address: str
    broker_id: int


@dataclass(frozen=True, slots=True)
class LeastIdGone:
    """A broker whose member with the smallest id has left others behind."""

    name: str
    offline_address: str


def remove(tables: Tables, leaving: Iterable[Leaving]) -> list[LeastIdGone]:
    """Remove brokers: life and filters, address, cluster, and then all their topics."""
    gone: set[str] = set()
    reduced: set[str] = set()
    to_tell: dict[str, LeastIdGone] = {}
    for each in leaving:
        where = Address(each.cluster, each.address)
        tables.lives.pop(where, None)
        tables.filter_servers.pop(where, None)
        tables.changes += 1
        broker = tables.brokers.get(each.name)
        if broker is None:
            continue
        was_least = each.broker_id == broker.least_id
        broker.members = {key: value for key, value in broker.members.items() if value != each.address}
        log.info("broker %s %d at %s has left", each.name, each.broker_id, each.address)
        if broker.members:
            reduced.add(each.name)
            if was_least:
                to_tell[each.name] = LeastIdGone(each.name, each.address)
            continue
        del tables.brokers[each.name]
        to_tell.pop(each.name, None)
        gone.add(each.name)
        _leave_clusters(tables, each.name)
    _clean_topics(tables, gone, reduced - gone)
    return list(to_tell.values())


def _leave_clusters(tables: Tables, name: str) -> None:
    """Take a broker out of every cluster: its processes may have named different ones."""
    for cluster in [cluster for cluster, names in tables.clusters.items() if name in names]:
        tables.clusters[cluster].discard(name)
        if not tables.clusters[cluster]:
            del tables.clusters[cluster]


def _clean_topics(tables: Tables, gone: set[str], reduced: set[str]) -> None:
    headless = {
        name
        for name in reduced
        if tables.brokers[name].acting_master and MASTER_ID not in tables.brokers[name].members
    }
    for name in gone:
        for topic in tables.topics_of(name):
            tables.drop_queues(topic, name)
        tables.touched.discard(name)
    for name in headless:
        tables.change_perm(name, lambda perm: perm & ~int(Perm.WRITE))


def on_connection(tables: Tables, connection: int) -> list[Leaving]:
    """Return the brokers whose registration came over a connection that is closed now."""
    return [
        leaving
        for where, life in tables.lives.items()
        if life.connection == connection and (leaving := _leaving(tables, where))
    ]


def silent(tables: Tables, now_ms: int) -> list[tuple[Leaving, int | None]]:
    """Return the brokers that have been silent for too long, with their connections."""
    found = []
    for where, life in tables.lives.items():
        if life.seen_ms + life.timeout_ms < now_ms and (leaving := _leaving(tables, where)):
            log.warning("%s has been silent for over %d ms", where.address, life.timeout_ms)
            found.append((leaving, life.connection))
    return found


def _leaving(tables: Tables, where: Address) -> Leaving | None:
    for broker in tables.brokers.values():
        if broker.name in tables.clusters.get(where.cluster, ()):
            for broker_id, address in broker.members.items():
                if address == where.address:
                    return Leaving(where.cluster, broker.name, address, broker_id)
    # Nobody has the address any more: nothing to clean but the sign of life.
    return Leaving(where.cluster, "", where.address, -1)
