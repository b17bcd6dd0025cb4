"""The official nameserver and broker as processes of a test, on free ports of loopback."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.waiting import wait_until
from tests.interop.clients import java_programs

START_S = 60
SMALL_BROKER = {
    "mappedFileSizeCommitLog": 64 << 20,
    "mappedFileSizeConsumeQueue": 20 * 10_000,
    "maxHashSlotNum": 50_000,
    "maxIndexNum": 200_000,
    # A test machine's disk is nobody's measure.
    "diskMaxUsedSpaceRatio": 99,
    "mappedFileSizeTimerLog": 1 << 20,
}
"""Files so small that a broker starts without claiming gigabytes."""


@dataclass(frozen=True)
class Server:
    """A running server of either kind."""

    address: str
    process: subprocess.Popen[bytes]
    home: Path

    def output(self) -> str:
        """Return what it printed so far."""
        return (self.home / "output").read_text(errors="replace")


def free_broker_port() -> int:
    """Return a port whose neighbours for VIP (two below) and replication (one above) are free as well."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port: int = probe.getsockname()[1]
        if port < 60_000 and all(_is_free(near) for near in (port - 2, port, port + 1)):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def nameserver(home: Path, settings: Mapping[str, object] | None = None) -> Iterator[Server]:
    """Run the official nameserver until the block ends."""
    port = free_broker_port()
    conf = {"listenPort": port, "bindAddress": "127.0.0.1", **(settings or {})}
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    with _running(home, main, conf, "-Xmx128m", "boot success", f"127.0.0.1:{port}") as server:
        yield server


@contextmanager
def broker(
    home: Path, namesrv: str, name: str = "broker-a", settings: Mapping[str, object] | None = None
) -> Iterator[Server]:
    """Run the official broker until the block ends; its files lie under `home`."""
    port = free_broker_port()
    conf = {
        "brokerClusterName": "DefaultCluster",
        "brokerName": name,
        "brokerId": 0,
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
        "bindAddress": "127.0.0.1",
        "listenPort": port,
        "haListenPort": port + 1,
        "namesrvAddr": namesrv,
        "storePathRootDir": home / "store",
        "storePathCommitLog": home / "store" / "commitlog",
        **SMALL_BROKER,
        **(settings or {}),
    }
    main = "org.apache.rocketmq.broker.BrokerStartup"
    with _running(home, main, conf, "-Xmx512m", "boot success", f"127.0.0.1:{port}") as server:
        yield server


@contextmanager
def _running(
    home: Path, main: str, conf: Mapping[str, object], heap: str, ready: str, address: str
) -> Iterator[Server]:
    home.mkdir(parents=True, exist_ok=True)
    conf_file = home / "server.conf"
    conf_file.write_text("".join(f"{key}={value}\n" for key, value in conf.items()))
    version = java_programs.SERVER_VERSION
    line = java_programs.command(version, main, "-c", str(conf_file), home=home, heap=heap)
    environment = os.environ | {
        "ROCKETMQ_HOME": str(home),
        "LD_PRELOAD": str(java_programs.loopback_shim()),
    }
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            line, cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    server = Server(address, process, home)
    try:
        wait_until(lambda: _is_ready(server, ready), f"{main} to start", START_S)
        yield server
    finally:
        # Its orderly stop takes 15 seconds, and no test needs it.
        process.kill()
        process.wait()


def _is_ready(server: Server, ready: str) -> bool:
    assert server.process.poll() is None, f"the server ended at once:\n{server.output()}"
    return ready in server.output()
