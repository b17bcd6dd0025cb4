"""Name server and brokers in one process: what `tailfin start` runs and tests use."""

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tailfin.broker.address import local_address
from tailfin.broker.app import Broker
from tailfin.broker.clock import Clock
from tailfin.config import BrokerSettings
from tailfin.config.namesrv import NamesrvSettings
from tailfin.config.setting import ConfigError
from tailfin.namesrv import NameServer
from tailfin.remoting import DRAIN_S

SMALL_FILES: Mapping[str, object] = {
    "mappedFileSizeCommitLog": 64 << 20,
    "mappedFileSizeConsumeQueue": 20 * 30_000,
    "maxHashSlotNum": 100_000,
    "maxIndexNum": 400_000,
}
"""Sizes for data that is thrown away; a directory to keep has RocketMQ's, so that it can move."""

EVERYWHERE = ("0.0.0.0", "::")

OF_ONE_BROKER: Mapping[str, str] = {
    "brokerName": "leave it out: they are called broker-a, broker-b and so on",
    "listenPort": "leave it out: each takes a free port, which its `address` tells",
    "storePathRootDir": "say where all data is kept instead (`data`): each has a folder of its own there",
}
"""Settings that several brokers cannot share, and what to do instead."""


class Node:
    """A name server and one broker, or several.

    Args:
        data: where everything is kept.
        host: address to listen at; clients are told it, or this host's own if it is `0.0.0.0`.
        namesrv_port: port of the name server; 0: any free one.
        broker_port: port of the broker; 0: any free one. Only one broker can have a fixed port.
        brokers: how many brokers, each with its own name.
        small_files: for data that is thrown away.
        settings: settings of `broker.conf` for every broker; what only one can have is for a single one.
        clock: by which the brokers tell what is due; the machine's unless given.
    """

    def __init__(
        self,
        data: Path,
        *,
        host: str = "127.0.0.1",
        namesrv_port: int = 0,
        broker_port: int = 0,
        brokers: int = 1,
        small_files: bool = False,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if brokers < 1 or (brokers > 1 and broker_port):
            raise ValueError("brokers must be at least 1, and several of them take free ports")
        self._data = data
        self._host = host
        self._namesrv_port = namesrv_port
        self._broker_port = broker_port
        self._count = brokers
        given = BrokerSettings.named(settings or {})
        _refuse_what_cannot_be_shared(given, brokers)
        self._settings = {**(SMALL_FILES if small_files else {}), **given}
        self._clock = clock
        self.brokers: list[Broker] = []
        self._name_server: NameServer | None = None

    @property
    def namesrv(self) -> str:
        """Address of the name server, as clients take it."""
        return f"{self._told_host}:{self._namesrv_port}"

    @property
    def has_name_server(self) -> bool:
        """Whether the name server runs."""
        return self._name_server is not None

    @property
    def broker(self) -> Broker:
        """The first broker."""
        return self.brokers[0]

    @property
    def _told_host(self) -> str:
        return local_address() if self._host in EVERYWHERE else socket.gethostbyname(self._host)

    async def start(self) -> None:
        """Start the name server, then the brokers; they serve when this returns."""
        await self.start_name_server()
        try:
            for number in range(self._count):
                broker = Broker(self._broker_settings(number), clock=self._clock)
                await broker.start()
                self.brokers.append(broker)
        except BaseException:
            await self.stop()
            raise

    async def start_name_server(self) -> None:
        """Start the name server, at its old address if it ran before."""
        name_server = NameServer(
            NamesrvSettings.of(
                {
                    "listenPort": self._namesrv_port,
                    "bindAddress": self._host,
                    "kvConfigPath": str(self._data / "namesrv" / "kvConfig.json"),
                    "configStorePath": str(self._data / "namesrv" / "namesrv.properties"),
                }
            )
        )
        await name_server.start()
        self._name_server, self._namesrv_port = name_server, name_server.port

    async def stop_name_server(self, drain: float = DRAIN_S) -> None:
        """Stop the name server; the brokers go on. One that is stopped stays so."""
        name_server, self._name_server = self._name_server, None
        if name_server:
            await name_server.stop(drain)

    def _broker_settings(self, number: int) -> BrokerSettings:
        name = f"broker-{chr(ord('a') + number)}" if number < 26 else f"broker-{number}"
        return BrokerSettings.of(
            {
                "brokerName": name,
                "namesrvAddr": self.namesrv,
                "brokerIP1": self._told_host,
                "bindAddress": self._host,
                "listenPort": self._broker_port,
                "storePathRootDir": str(self._data / name),
                **self._settings,
            }
        )

    async def stop(self) -> None:
        """Stop the brokers, then the name server."""
        await asyncio.gather(*(broker.stop() for broker in self.brokers))
        await self.stop_name_server()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()


def _refuse_what_cannot_be_shared(settings: Mapping[str, object], brokers: int) -> None:
    if "namesrvAddr" in settings:
        raise ConfigError(
            "namesrvAddr cannot be set here, as these brokers have a name server of their own: leave it out, "
            "or start a broker alone (`tailfin broker -n HOST:PORT`) for another name server"
        )
    for key in OF_ONE_BROKER.keys() & settings.keys() if brokers > 1 else ():
        raise ConfigError(f"{brokers} brokers cannot have the same {key}; {OF_ONE_BROKER[key]}")
