"""Clusters, brokers and name servers: who is there, how they fare, their settings."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tailfin.admin.servers import Servers, each
from tailfin.client.routes import MASTER
from tailfin.config import properties
from tailfin.wire.bodies.common import KVTable
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.header import Header
from tailfin.wire.headers.namesrv import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)


@dataclass(frozen=True, slots=True)
class BrokerFigures:
    """How a broker fares, from what it tells of itself; None: it does not tell.

    Attributes:
        version: its release, as `V5_3_3`.
        active: whether it takes messages.
        put_tps: messages stored a second, over the last 10 s.
        get_tps: messages read a second, over the last 10 s.
        put_today: messages stored since midnight.
        get_today: messages read since midnight.
        disk_ratio: share of the disk in use where the log is, from 0 to 1.
        first_store_timestamp: when the oldest message was stored, in milliseconds since the epoch.
        boot_timestamp: when it was started, in milliseconds since the epoch.
    """

    version: str | None
    active: bool | None
    put_tps: float | None
    get_tps: float | None
    put_today: int | None
    get_today: int | None
    disk_ratio: float | None
    first_store_timestamp: int | None
    boot_timestamp: int | None


@dataclass(frozen=True, slots=True)
class BrokerMember:
    """A master or a slave.

    Attributes:
        cluster: the cluster it belongs to.
        name: the broker's name; a master and its slaves share it.
        broker_id: 0 is the master.
        address: where it listens.
        figures: how it fares; None when it does not tell.
        trouble: why it does not tell, None when it does.
    """

    cluster: str
    name: str
    broker_id: int
    address: str
    figures: BrokerFigures | None
    trouble: str | None

    @property
    def is_master(self) -> bool:
        """Whether it takes messages rather than copying them."""
        return self.broker_id == MASTER


class Cluster:
    """What an operator does with brokers and name servers: `AdminClient.cluster`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def list(self) -> dict[str, tuple[str, ...]]:
        """Return the names of brokers by cluster."""
        table = (await self._servers.clusters()).cluster_addr_table
        return {name: tuple(sorted(brokers)) for name, brokers in sorted(table.items())}

    async def brokers(self, *, cluster: str | None = None) -> tuple[BrokerMember, ...]:
        """Return every master and slave with its figures; one that does not answer says why.

        Args:
            cluster: only of this cluster.
        """
        if cluster is not None:
            await self._servers.masters(cluster=cluster)
        table = (await self._servers.clusters()).broker_addr_table
        members = [
            self._member(broker.cluster or "", broker.broker_name, broker_id, address)
            for broker in table.values()
            for broker_id, address in broker.broker_addrs.items()
            if cluster in (None, broker.cluster)
        ]
        found = await asyncio.gather(*members)
        return tuple(sorted(found, key=lambda each: (each.cluster, each.name, each.broker_id)))

    async def _member(self, cluster: str, name: str, broker_id: int, address: str) -> BrokerMember:
        try:
            told = figures(await self._runtime(address))
        except RemotingError as error:
            # Nobody answers, or one that cannot tell yet: 4.9 fails in its first seconds.
            return BrokerMember(cluster, name, broker_id, address, None, error.remark)
        return BrokerMember(cluster, name, broker_id, address, told, None)

    async def runtime(self, broker: str) -> dict[str, str]:
        """Return all that a broker tells of itself, by RocketMQ's names.

        Args:
            broker: its name or address.
        """
        return await self._runtime(await self._servers.address(broker))

    async def _runtime(self, address: str) -> dict[str, str]:
        answer = await self._servers.ask(address, Code.GET_BROKER_RUNTIME_INFO)
        return dict(sorted(KVTable.from_json(answer.body).table.items()))

    async def config(self, broker: str) -> dict[str, str]:
        """Return a broker's settings, by the names that broker.conf has.

        Args:
            broker: its name or address.
        """
        answer = await self._servers.ask(await self._servers.address(broker), Code.GET_BROKER_CONFIG)
        return dict(sorted(properties.parse(answer.body.decode()).items()))

    async def update_config(
        self, changes: Mapping[str, object], *, cluster: str | None = None, broker: str | None = None
    ) -> tuple[str, ...]:
        """Change settings of brokers while they run; return the names of those that took them.

        Args:
            changes: values by name.
            cluster: of the masters of this cluster; without it and `broker`, of all masters.
            broker: of this broker, by name or address.

        Example:
            ```python
            admin.cluster.update_config({"fileReservedTime": 48}, broker="broker-a")
            ```
        """
        targets = await self._servers.masters(cluster=cluster, broker=broker)
        body = properties.text(_texts(changes)).encode()
        await each(targets, lambda address: self._servers.ask(address, Code.UPDATE_BROKER_CONFIG, body=body))
        return tuple(targets)

    async def nameserver_config(self) -> dict[str, dict[str, str]]:
        """Return the settings of each name server, by its address."""
        answers = await self._servers.ask_nameservers(Code.GET_NAMESRV_CONFIG)
        return {
            address: dict(sorted(properties.parse(answer.body.decode()).items()))
            for address, answer in answers.items()
        }

    async def update_nameserver_config(self, changes: Mapping[str, object]) -> tuple[str, ...]:
        """Change settings of every name server; return their addresses."""
        body = properties.text(_texts(changes)).encode()
        return tuple(await self._servers.ask_nameservers(Code.UPDATE_NAMESRV_CONFIG, body=body))

    async def kv_list(self, namespace: str) -> dict[str, str]:
        """Return the texts that name servers keep under a namespace; none when there is no such."""
        header = GetKVListByNamespaceRequestHeader(namespace=namespace)
        answer = await self._kept(Code.GET_KVLIST_BY_NAMESPACE, header)
        return KVTable.from_json(answer.body).table if answer else {}

    async def kv_get(self, namespace: str, key: str) -> str | None:
        """Return a text that name servers keep, None when there is none."""
        header = GetKVConfigRequestHeader(namespace=namespace, key=key)
        answer = await self._kept(Code.GET_KV_CONFIG, header)
        return GetKVConfigResponseHeader.decode(answer.fields).value if answer else None

    async def _kept(self, code: int, header: Header) -> Frame | None:
        try:
            return await self._servers.ask_nameserver(code, header=header)
        except RemotingError as error:
            if error.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return None

    async def kv_put(self, namespace: str, key: str, value: str) -> None:
        """Let every name server keep a text."""
        header = PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
        await self._servers.ask_nameservers(Code.PUT_KV_CONFIG, header=header)

    async def kv_delete(self, namespace: str, key: str) -> None:
        """Let every name server forget a text."""
        header = DeleteKVConfigRequestHeader(namespace=namespace, key=key)
        await self._servers.ask_nameservers(Code.DELETE_KV_CONFIG, header=header)

    async def wipe_write_permission(self, broker: str) -> dict[str, int]:
        """Let producers send nothing more to a broker, so that it can be stopped.

        Args:
            broker: its name.

        Returns:
            How many topics each name server changed, by its address. It holds until the broker registers
            anew, or `add_write_permission`.
        """
        await self._servers.address(broker)
        header = WipeWritePermOfBrokerRequestHeader(broker_name=broker)
        answers = await self._servers.ask_nameservers(Code.WIPE_WRITE_PERM_OF_BROKER, header=header)
        decode = WipeWritePermOfBrokerResponseHeader.decode
        return {address: decode(answer.fields).wipe_topic_count for address, answer in answers.items()}

    async def add_write_permission(self, broker: str) -> dict[str, int]:
        """Let producers send to a broker again.

        Args:
            broker: its name.

        Returns:
            How many topics each name server changed, by its address.
        """
        await self._servers.address(broker)
        header = AddWritePermOfBrokerRequestHeader(broker_name=broker)
        answers = await self._servers.ask_nameservers(Code.ADD_WRITE_PERM_OF_BROKER, header=header)
        decode = AddWritePermOfBrokerResponseHeader.decode
        return {address: decode(answer.fields).add_topic_count for address, answer in answers.items()}

    async def delete_expired_files(self, broker: str) -> None:
        """Let a broker delete expired log files and queue files now, whatever the hour."""
        address = await self._servers.address(broker)
        await self._servers.ask(address, Code.DELETE_EXPIRED_COMMITLOG)
        await self._servers.ask(address, Code.CLEAN_EXPIRED_CONSUMEQUEUE)

    async def delete_unused_topics(self, broker: str) -> None:
        """Let a broker delete the queues of topics that no longer exist."""
        await self._servers.ask(await self._servers.address(broker), Code.CLEAN_UNUSED_TOPIC)


def figures(table: Mapping[str, str]) -> BrokerFigures:
    """Read a broker's figures out of what it tells of itself."""
    put, put_morning = (_number(table, key) for key in ("msgPutTotalTodayNow", "msgPutTotalTodayMorning"))
    get, get_morning = (_number(table, key) for key in ("msgGetTotalTodayNow", "msgGetTotalTodayMorning"))
    active = table.get("brokerActive")
    first, boot = _number(table, "earliestMessageTimeStamp"), _number(table, "bootTimestamp")
    return BrokerFigures(
        version=table.get("brokerVersionDesc"),
        active=None if active is None else active.lower() == "true",
        put_tps=_number(table, "putTps"),
        # Brokers before 5.x spell it with one r.
        get_tps=_number(table, "getTransferredTps" if "getTransferredTps" in table else "getTransferedTps"),
        put_today=None if put is None else int(put - (put_morning or 0)),
        get_today=None if get is None else int(get - (get_morning or 0)),
        disk_ratio=_number(table, "commitLogDiskRatio"),
        first_store_timestamp=int(first) if first is not None and first > 0 else None,
        boot_timestamp=None if boot is None else int(boot),
    )


def _number(table: Mapping[str, str], key: str) -> float | None:
    """Read a number, or the first of several: rates stand there over 10 s, 1 min and 10 min."""
    words = table.get(key, "").split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _texts(changes: Mapping[str, object]) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in changes.items()
    }
