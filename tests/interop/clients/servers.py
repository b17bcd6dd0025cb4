"""Nameservers and brokers of either make as processes of a test, on free ports of loopback.

Both makes take the same settings and say in the same words that they are ready, so they are one here.
"""

import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.crash.waiting import wait_until
from tests.interop.clients import java_programs

Make = Literal["official", "official-4", "tailfin"]

ROOT = Path(__file__).parents[3]
READY = "boot success"
START_S = 60
SMALL_BROKER = {
    "mappedFileSizeCommitLog": 64 << 20,
    "mappedFileSizeConsumeQueue": 20 * 10_000,
    "maxHashSlotNum": 50_000,
    "maxIndexNum": 200_000,
    # A test machine's disk is nobody's measure.
    "diskMaxUsedSpaceRatio": 99,
    # Nor is its speed: the official broker refuses sends that waited 0.2 s.
    "waitTimeMillsInSendQueue": 10_000,
    "mappedFileSizeTimerLog": 1 << 20,
    "traceTopicEnable": "true",
    "enablePropertyFilter": "true",
    # What is tried again comes after a second, not after hours.
    "messageDelayLevel": " ".join(["1s", "2s", *["1s"] * 16]),
    "recallMessageEnable": "true",
    "enableLmq": "true",
    "enableMultiDispatch": "true",
}
"""Files so small that a broker starts without claiming gigabytes."""
AT_REST = {
    # Each of these flushes compares 38 MB byte by byte.
    "timerFlushIntervalMs": 10_000,
    # A thread spins until this time has passed since the start.
    "transactionMetricFlushInterval": 500,
}
"""Settings with which an official broker that has nothing to do leaves the processor to others."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    address: str
    process: subprocess.Popen[bytes]
    home: Path

    def output(self) -> str:
        """Return what it printed so far."""
        return (self.home / "output").read_text(errors="replace")


def free_broker_port() -> int:
    """Return a port whose neighbours for VIP (two below) and replication (one above) are free as well.

    Not one that the system gives to outgoing connections: it might do so before the server binds it.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        if all(_is_free(near) for near in (port - 2, port, port + 1)):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def nameserver(
    make: Make, home: Path, settings: Mapping[str, object] | None = None, port: int | None = None
) -> Iterator[Server]:
    """Run a nameserver until the block ends, at a free port or the given one."""
    port = port or free_broker_port()
    conf = {"listenPort": port, "bindAddress": "127.0.0.1", **(settings or {})}
    if make == "tailfin":
        conf |= {
            "kvConfigPath": home / "kvConfig.json",
            "configStorePath": home / "namesrv.properties",
        }
        command = [sys.executable, "-m", "tailfin", "namesrv"]
    else:
        command = _java(make, "org.apache.rocketmq.namesrv.NamesrvStartup", home, "-Xmx128m")
    with _running(command, home, conf, port) as server:
        yield server


@contextmanager
def broker(
    make: Make,
    home: Path,
    namesrv: str,
    name: str = "broker-a",
    settings: Mapping[str, object] | None = None,
    port: int | None = None,
) -> Iterator[Server]:
    """Run a broker until the block ends, at a free port or the given one; its files lie under `home`."""
    port = port or free_broker_port()
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
        **(AT_REST if make == "official" else {}),
        **(settings or {}),
    }
    if make == "tailfin":
        command = [sys.executable, "-m", "tailfin", "broker"]
    else:
        command = _java(make, "org.apache.rocketmq.broker.BrokerStartup", home, "-Xmx512m")
    with _running(command, home, conf, port) as server:
        yield server


def _java(make: Make, main: str, home: Path, heap: str) -> list[str]:
    if make == "official-4":
        # Those of generation 4 do not start without these files.
        (home / "conf").mkdir(parents=True, exist_ok=True)
        for name in ("namesrv", "broker"):
            (home / "conf" / f"logback_{name}.xml").write_text("<configuration/>")
    return java_programs.command(java_programs.SERVER_VERSIONS[make], main, home=home, heap=heap)


@contextmanager
def _running(command: list[str], home: Path, conf: Mapping[str, object], port: int) -> Iterator[Server]:
    home.mkdir(parents=True, exist_ok=True)
    conf_file = home / "server.conf"
    conf_file.write_text("".join(f"{key}={value}\n" for key, value in conf.items()))
    environment = os.environ | {
        "ROCKETMQ_HOME": str(home),
        "LD_PRELOAD": str(java_programs.loopback_shim()),
    }
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            [*command, "-c", str(conf_file)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"127.0.0.1:{port}", process, home)
    try:
        wait_until(lambda: _is_ready(server), f"{command[-1]} to start", START_S)
        yield server
    finally:
        # The official broker's orderly stop takes 15 seconds, and no test here needs it.
        process.kill()
        process.wait()


def _is_ready(server: Server) -> bool:
    assert server.process.poll() is None, f"the server ended at once:\n{server.output()}"
    return READY in server.output()
