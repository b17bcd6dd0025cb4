"""Whom to ask: name servers, the brokers of a cluster, the brokers of a topic."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from tailfin.admin.errors import AdminError, NotFound
from tailfin.client.errors import got_no_answer
from tailfin.client.network import Network
from tailfin.client.routes import MASTER, Route
from tailfin.wire.bodies.routes import BrokerData, ClusterInfo, TopicRouteData
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.header import Header

T = TypeVar("T")

AT_ONCE = 64
"""Requests under way, however many topics or groups are looked at."""

SUCCESS = (ResponseCode.SUCCESS,)


class Servers:
    """Requests to name servers and brokers. Nothing is remembered: an operator wants to see what is."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._room = asyncio.Semaphore(AT_ONCE)

    @property
    def timeout(self) -> float:
        """Seconds for a request."""
        return self.network.options.request_timeout

    async def ask(
        self,
        address: str,
        code: int,
        *,
        header: Header | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        accept: Collection[int] = SUCCESS,
        timeout: float | None = None,
    ) -> Frame:
        """Ask one server."""
        async with self._room:
            return await self.network.call(
                address, code, header=header, fields=fields, body=body, accept=accept, timeout=timeout
            )

    async def ask_nameserver(self, code: int, *, header: Header | None = None) -> Frame:
        """Ask a name server, whichever answers."""
        return await self.network.nameservers.call(code, header=header)

    async def ask_nameservers(
        self,
        code: int,
        *,
        header: Header | None = None,
        body: bytes = b"",
    ) -> dict[str, Frame]:
        """Ask every name server, for they do not tell each other; return the answers by address."""
        targets = {address: address for address in self.network.nameservers.addresses}
        return await each(targets, lambda address: self.ask(address, code, header=header, body=body))

    async def clusters(self) -> ClusterInfo:
        """Return every cluster with its brokers."""
        return ClusterInfo.from_json((await self.ask_nameserver(Code.GET_BROKER_CLUSTER_INFO)).body)

    async def find_route(self, topic: str) -> TopicRouteData | None:
        """Return where a topic is, None when no name server knows it."""
        return await self.network.nameservers.find_route(topic)

    async def route(self, topic: str) -> TopicRouteData:
        """Return where a topic is."""
        found = await self.find_route(topic)
        if found is None:
            raise NotFound(
                f"topic {topic!r} does not exist; `tailfin topic list` shows what there is, "
                f"`tailfin topic create {topic}` or AdminClient.topics.create makes it"
            )
        return found

    async def fresh_route(self, topic: str) -> Route:
        """Return a topic's queues and brokers, which the network then knows as well."""
        await self.route(topic)
        return await self.network.route(topic, fresh=True)

    async def masters_of(self, topic: str) -> dict[str, str]:
        """Return the masters that have a topic, by broker name."""
        return masters((await self.route(topic)).broker_datas)

    async def nearest_of(self, topic: str) -> dict[str, str]:
        """Return for each broker that has a topic the master, or a slave when the master is gone."""
        return nearest((await self.route(topic)).broker_datas)

    async def nearest(self) -> dict[str, str]:
        """Return for each broker the master, or a slave when the master is gone, by name."""
        return nearest((await self.clusters()).broker_addr_table.values())

    async def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Return masters by broker name: one broker's, those of a cluster, or all.

        Args:
            cluster: only brokers of this cluster.
            broker: only this one, by its name or its address.
        """
        found = await self.clusters()
        if broker is not None:
            return {name_of(found, broker): address_of(found, broker)}
        if cluster is not None and cluster not in found.cluster_addr_table:
            known = ", ".join(sorted(found.cluster_addr_table)) or "none"
            raise NotFound(f"there is no cluster {cluster!r}; there are: {known}")
        names = found.broker_addr_table if cluster is None else found.cluster_addr_table.get(cluster, [])
        targets = masters(
            [found.broker_addr_table[name] for name in names if name in found.broker_addr_table]
        )
        if not targets:
            where = f"of cluster {cluster!r} " if cluster else ""
            raise AdminError(f"no master {where}is registered: start a broker, or look at its log")
        return targets

    async def ask_reachable(self, code: int, *, header: Header | None = None) -> dict[str, Frame]:
        """Ask each broker, its master or else a slave; those that do not answer are left out."""
        targets = await self.nearest()
        answers = await asyncio.gather(
            *(self.ask(address, code, header=header) for address in targets.values()),
            return_exceptions=True,
        )
        found = {}
        for name, answer in zip(targets, answers, strict=True):
            if isinstance(answer, Frame):
                found[name] = answer
            elif not (isinstance(answer, RemotingError) and got_no_answer(answer)):
                raise answer
        return found

    async def address(self, broker: str) -> str:
        """Return a master's address by the broker's name; an address stays what it is."""
        return address_of(await self.clusters(), broker)


def nearest(brokers: Collection[BrokerData]) -> dict[str, str]:
    """Return each broker's master, or the slave with the lowest id when there is no master, by name."""
    return {
        each.broker_name: each.broker_addrs[min(each.broker_addrs)]
        for each in sorted(brokers, key=lambda each: each.broker_name)
        if each.broker_addrs
    }


def masters(brokers: Collection[BrokerData]) -> dict[str, str]:
    """Return the addresses of those brokers that have a master, by name."""
    return {
        each.broker_name: each.broker_addrs[MASTER]
        for each in sorted(brokers, key=lambda each: each.broker_name)
        if MASTER in each.broker_addrs
    }


def address_of(clusters: ClusterInfo, broker: str) -> str:
    """Return the address of a broker's master; an address that is registered stays what it is."""
    found = clusters.broker_addr_table.get(broker)
    if found is None:
        if any(broker in each.broker_addrs.values() for each in clusters.broker_addr_table.values()):
            return broker
        known = ", ".join(sorted(clusters.broker_addr_table)) or "none"
        raise NotFound(f"there is no broker {broker!r}, neither by name nor by address; there are: {known}")
    if MASTER not in found.broker_addrs:
        raise AdminError(
            f"broker {broker!r} has no master now, only {', '.join(found.broker_addrs.values())}; "
            "give one of these addresses to ask a slave"
        )
    return found.broker_addrs[MASTER]


def name_of(clusters: ClusterInfo, broker: str) -> str:
    """Return the name of a broker that is given by its name or its address."""
    for name, each in clusters.broker_addr_table.items():
        if broker in each.broker_addrs.values():
            return name
    return broker


async def each(targets: Mapping[str, str], ask: Callable[[str], Awaitable[T]]) -> dict[str, T]:
    """Ask several addresses at once; return what they answer, by name."""
    answers = await asyncio.gather(*(ask(address) for address in targets.values()))
    return dict(zip(targets, answers, strict=True))
