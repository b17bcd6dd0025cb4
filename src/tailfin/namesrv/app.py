"""A name server, put together: tables, handlers, timers, sockets."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Coroutine

from tailfin.config.namesrv import NamesrvSettings
from tailfin.namesrv.broker_handlers import BrokerHandlers
from tailfin.namesrv.handlers import ConfigHandlers, RouteHandlers, TopicHandlers
from tailfin.namesrv.key_values import KeyValues
from tailfin.namesrv.settings import LiveSettings
from tailfin.namesrv.tables import Tables
from tailfin.remoting import Client, Hook, Server
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.namesrv import NotifyMinBrokerIdChangeRequestHeader

log = logging.getLogger("tailfin.namesrv")

_NOTIFY_SECONDS = 0.3
_KEY_VALUES_LOGGED_FIRST_SECONDS = 60
_KEY_VALUES_LOGGED_EVERY_SECONDS = 600


class NameServer:
    """One name server; several know nothing of each other."""

    def __init__(self, settings: NamesrvSettings, *, hooks: tuple[Hook, ...] = ()) -> None:
        """Load the key-value config; nothing listens before `start`."""
        self._settings = settings
        self._hooks = hooks
        self._live = LiveSettings(settings)
        self._tables = Tables()
        self._key_values = KeyValues(settings.namesrv.key_values())
        self._started = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: Server | None = None
        self._client: Client | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen and begin to look after brokers."""
        self._started = time.monotonic()
        self._client = Client()
        server = self._server = Server(self._settings.server.engine_options(), hooks=self._hooks)
        brokers = BrokerHandlers(self._tables, self._key_values, self._live, _clock_ms, self._tell_least_id)
        server.add(
            brokers,
            RouteHandlers(self._tables, self._key_values, self._live, self._age),
            TopicHandlers(self._tables, self._live),
            ConfigHandlers(self._key_values, self._live),
        )
        server.on_closed(brokers.connection_closed)
        self.port = server.listen(self._settings.server.bindAddress, self._settings.namesrv.listenPort)
        self._run(self._scan(server, brokers))
        self._run(self._log_key_values())

    async def stop(self, drain: float = 3.0) -> None:
        """Answer what is under way, close every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server:
            await self._server.stop(drain, go_away=self._settings.server.go_away_seconds())
        if self._client:
            await self._client.stop()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["NameServer"]:
        """Start, and stop at the end of a `with` block."""
        try:
            await self.start()
            yield self
        finally:
            await self.stop()

    def _age(self) -> float:
        return time.monotonic() - self._started

    async def _scan(self, server: Server, brokers: BrokerHandlers) -> None:
        while True:
            await asyncio.sleep(self._live.now.scanNotActiveBrokerInterval / 1000)
            for connection in brokers.scan():
                server.disconnect(connection)

    async def _log_key_values(self) -> None:
        await asyncio.sleep(_KEY_VALUES_LOGGED_FIRST_SECONDS)
        while True:
            self._key_values.log_all()
            await asyncio.sleep(_KEY_VALUES_LOGGED_EVERY_SECONDS)

    def _tell_least_id(self, name: str, offline: str | None, ha_address: str | None) -> None:
        """Tell the other members of a broker who has the smallest id now."""
        broker = self._tables.brokers.get(name)
        if not self._live.now.notifyMinBrokerIdChanged or broker is None or not broker.members:
            return
        least = min(broker.members)
        header = NotifyMinBrokerIdChangeRequestHeader(
            min_broker_id=least,
            broker_name=name,
            min_broker_addr=broker.members[least],
            offline_broker_addr=offline,
            ha_broker_addr=ha_address,
        )
        # One that came is told by itself that it is the least; one that left is news to all.
        told_all = offline is not None or len(broker.members) == 1
        for broker_id, address in broker.members.items():
            if told_all or broker_id != least:
                self._run(self._notify(address, header))

    async def _notify(self, address: str, header: NotifyMinBrokerIdChangeRequestHeader) -> None:
        assert self._client is not None
        code = Code.NOTIFY_MIN_BROKER_ID_CHANGE
        try:
            await self._client.notify(address, code, header=header, timeout=_NOTIFY_SECONDS)
        except RemotingError as error:
            log.warning("%s is not told of the smallest broker id: %s", address, error)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _clock_ms() -> int:
    return time.monotonic_ns() // 1_000_000
