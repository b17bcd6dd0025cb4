"""Requests of brokers: registration and every sign of life."""

import asyncio
import hashlib
import logging
from collections.abc import Callable

from tailfin.namesrv import registration, removal
from tailfin.namesrv.key_values import ORDER_TOPICS, KeyValues
from tailfin.namesrv.registration import Registration
from tailfin.namesrv.removal import LeastIdGone, Leaving
from tailfin.namesrv.settings import LiveSettings
from tailfin.namesrv.tables import Address, Tables
from tailfin.remoting import Event, Request, Response, handles
from tailfin.wire import registration as wire_registration
from tailfin.wire import version
from tailfin.wire.bodies.common import DataVersion, KVTable
from tailfin.wire.bodies.topics import RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.namesrv import (
    ZONE_NAME,
    BrokerHeartbeatRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
)

log = logging.getLogger("tailfin.namesrv")

Sent = tuple[bytes, bool, int]
"""What a registration's body was: its digest, whether it was compressed, the broker's version."""

LeastIdListener = Callable[[str, str | None, str | None], None]
"""Told a broker's name, the address that left, and the replication address of the one that came."""


class BrokerHandlers:
    """Keeps the tables in step with the brokers.

    Removals are gathered and made together. Before a registration is taken the waiting ones are made, so that
    a broker that comes back at once is not removed.
    """

    def __init__(
        self,
        tables: Tables,
        key_values: KeyValues,
        settings: LiveSettings,
        clock_ms: Callable[[], int],
        on_least_id: LeastIdListener,
    ) -> None:
        self._tables = tables
        self._key_values = key_values
        self._settings = settings
        self._clock_ms = clock_ms
        self._on_least_id = on_least_id
        self._waiting: list[Leaving] = []
        self._bodies: dict[Address, tuple[Sent, RegisterBrokerBody]] = {}

    @handles(Code.REGISTER_BROKER)
    def register(self, request: Request) -> Response:
        """Take a registration; a slave learns its master, every broker the order config."""
        fields = request.fields
        header = RegisterBrokerRequestHeader.decode(fields)
        self.remove_waiting()
        body = self._body(request, header)
        config = self._settings.now
        told = registration.register(
            self._tables,
            Registration(
                cluster=header.cluster_name,
                name=header.broker_name,
                address=header.broker_addr,
                broker_id=header.broker_id,
                ha_address=header.ha_server_addr,
                topics=body.topic_config_serialize_wrapper,
                filter_servers=body.filter_server_list if request.version >= version.V3_0_11 else None,
                connection=request.connection,
                timeout_ms=header.heartbeat_timeout_millis,
                acting_master=header.enable_acting_master,
                zone=fields.get(ZONE_NAME),
                only_changes=bool(header.only_changes),
            ),
            self._clock_ms(),
            drop_missing=config.deleteTopicWithBrokerRegistration,
        )
        if told.least_id_changed:
            self._on_least_id(header.broker_name, None, header.ha_server_addr)
        answer = RegisterBrokerResponseHeader(ha_server_addr=told.ha_address, master_addr=told.master_address)
        order = self._key_values.of_namespace(ORDER_TOPICS) if config.returnOrderTopicConfigToBroker else None
        return Response(fields=answer.encode(), body=b"" if order is None else KVTable(table=order).to_json())

    @handles(Code.UNREGISTER_BROKER)
    def unregister(self, request: Request) -> Response:
        """Let a broker go that stops in order."""
        header = UnRegisterBrokerRequestHeader.decode(request.fields)
        if len(self._waiting) >= self._settings.now.unRegisterBrokerQueueCapacity:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "too many brokers wait to be removed; try again")
        self._remove_soon(
            [Leaving(header.cluster_name, header.broker_name, header.broker_addr, header.broker_id)]
        )
        return Response()

    @handles(Code.BROKER_HEARTBEAT)
    def heartbeat(self, request: Request) -> Response:
        """Note that a broker lives."""
        header = BrokerHeartbeatRequestHeader.decode(request.fields)
        self._tables.seen(Address(header.cluster_name, header.broker_addr), self._clock_ms())
        return Response()

    @handles(Code.QUERY_DATA_VERSION)
    def query_data_version(self, request: Request) -> Response:
        """Say whether a broker must register its topics anew; asking is a sign of life too."""
        header = QueryDataVersionRequestHeader.decode(request.fields)
        told = DataVersion.from_json(request.body or b"{}")
        where = Address(header.cluster_name, header.broker_addr)
        known = self._tables.data_version(where)
        self._tables.seen(where, self._clock_ms())
        answer = QueryDataVersionResponseHeader(changed=registration.changed(known, told))
        return Response(fields=answer.encode(), body=known.to_json() if known else b"")

    def connection_closed(self, event: Event) -> None:
        """Let the brokers go that registered over a connection."""
        self._remove_soon(removal.on_connection(self._tables, event.connection))

    def scan(self) -> list[int]:
        """Let silent brokers go; return their connections, to be closed."""
        found = removal.silent(self._tables, self._clock_ms())
        self._remove_soon([leaving for leaving, _ in found])
        return [connection for _, connection in found if connection is not None]

    def remove_waiting(self) -> None:
        """Make the removals that wait."""
        leaving, self._waiting = self._waiting, []
        if leaving:
            for each in removal.remove(self._tables, leaving):
                self._least_id_gone(each)
            lives = self._tables.lives
            self._bodies = {where: kept for where, kept in self._bodies.items() if where in lives}

    def _body(self, request: Request, header: RegisterBrokerRequestHeader) -> RegisterBrokerBody:
        """Read a registration's body, but not again one that the broker repeats, as it does every 30 s."""
        data = request.body
        if header.body_crc32 and wire_registration.crc32(data) != header.body_crc32:
            remark = "crc32 not match: the registration's body is not what the broker sent"
            raise RemotingError(ResponseCode.SYSTEM_ERROR, remark)
        where = Address(header.cluster_name, header.broker_addr)
        sent = hashlib.blake2b(data).digest(), header.compressed, request.version
        before = self._bodies.get(where)
        if before and before[0] == sent:
            return before[1]
        body = _read(data, compressed=header.compressed, broker_version=request.version)
        if where in self._tables.lives:
            self._bodies[where] = sent, body
        return body

    def _least_id_gone(self, gone: LeastIdGone) -> None:
        self._on_least_id(gone.name, gone.offline_address, None)

    def _remove_soon(self, leaving: list[Leaving]) -> None:
        if leaving and not self._waiting:
            asyncio.get_running_loop().call_soon(self.remove_waiting)
        self._waiting += leaving


def _read(data: bytes, *, compressed: bool, broker_version: int) -> RegisterBrokerBody:
    if not data:
        return RegisterBrokerBody()
    if broker_version < version.V3_0_11:
        wrapper = TopicConfigAndMappingSerializeWrapper.from_json(data)
        return RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
    if compressed:
        return wire_registration.inflate(data, broker_version)
    return RegisterBrokerBody.from_json(data)
