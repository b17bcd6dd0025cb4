"""The brokers that are measured: started as processes of their own, on free ports of loopback.

All have their default settings but for what a case asks of every side alike. The official broker gets the
heap its own documentation gives it, and the flags of a server that is meant to run for long.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.sides import JAVA_FLAGS, BenchError
from tailfin import load
from tailfin.load import LoadFailed, LoadOptions
from tailfin.wire.error import RemotingError
from tests.interop.clients import java_programs
from tests.interop.clients.servers import free_broker_port

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60
PROBE_SECONDS = 0.01
OUTPUT_SHOWN = 600
LOOPBACK = "127.0.0.1"

Settings = Mapping[str, object]


@dataclass
class Broker:
    """A running broker and whatever it needs beside it."""

    side: str
    address: str
    process: subprocess.Popen[bytes]
    home: Path
    output: Path
    helpers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: float = 0.0
    namesrv: str = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for_first_send(self, topic: str = "First") -> float:
        """Return the seconds from the start of the process to its first acknowledged message."""
        options = LoadOptions(
            mode="send", address=self.address, topic=topic, connections=1, in_flight=1, queues=1, count=1
        )
        while time.monotonic() - self.started < START_SECONDS_MAX:
            if self.process.poll() is not None:
                raise BenchError(f"the {self.side} broker ended at its start: {self.said()}")
            with contextlib.suppress(OSError, LoadFailed):
                if load.run(options)["messages"] == 1:
                    return time.monotonic() - self.started
            time.sleep(PROBE_SECONDS)
        raise BenchError(
            f"the {self.side} broker took no message within {START_SECONDS_MAX} s: {self.said()}"
        )

    def stop_in_order(self) -> float:
        """Ask it to stop; return the seconds until it is gone."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise BenchError(f"the {self.side} broker did not stop within {STOP_SECONDS_MAX} s") from None
        return time.monotonic() - began

    def kill(self) -> None:
        for process in (self.process, *self.helpers):
            process.kill()
            process.wait()

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def said(self) -> str:
        return self.output.read_text(errors="replace")[-OUTPUT_SHOWN:]


@contextlib.contextmanager
def running(side: str, home: Path, settings: Settings | None = None) -> Iterator[Broker]:
    """Run a broker on a directory, new or left by another run, until the block ends; then kill it."""
    home.mkdir(parents=True, exist_ok=True)
    broker = {"official": _official, "tailfin": _tailfin, "limit": _limit}[side](home, settings or {})
    try:
        yield broker
    except (OSError, LoadFailed, RemotingError) as error:
        raise BenchError(f"the {side} broker: {error}; it said: {broker.said()}") from error
    finally:
        broker.kill()


def _official(home: Path, settings: Settings) -> Broker:
    port, namesrv = free_broker_port(), free_broker_port()
    names = {"listenPort": namesrv, "bindAddress": LOOPBACK}
    helper = _java(home / "namesrv", "namesrv.NamesrvStartup", names, ("-Xmx256m",))
    conf = {
        "brokerClusterName": "DefaultCluster",
        "brokerName": "broker-a",
        "brokerId": 0,
        "brokerIP1": LOOPBACK,
        "brokerIP2": LOOPBACK,
        "bindAddress": LOOPBACK,
        "listenPort": port,
        "haListenPort": port + 1,
        "namesrvAddr": f"{LOOPBACK}:{namesrv}",
        "storePathRootDir": home / "store",
        "storePathCommitLog": home / "store/commitlog",
        **settings,
    }
    began = time.monotonic()
    process = _java(home / "broker", "broker.BrokerStartup", conf, JAVA_FLAGS)
    output = home / "broker/output"
    address, names_at = f"{LOOPBACK}:{port}", f"{LOOPBACK}:{namesrv}"
    return Broker("official", address, process, home, output, [helper], began, names_at)


def _java(home: Path, main: str, conf: Settings, flags: tuple[str, ...]) -> subprocess.Popen[bytes]:
    home.mkdir(parents=True, exist_ok=True)
    (home / "server.conf").write_text("".join(f"{key}={value}\n" for key, value in conf.items()))
    target = java_programs.PROJECTS[java_programs.SERVER_VERSIONS["official"]]
    if not (target / "lib").is_dir():
        raise BenchError("the official broker is not fetched: make peers")
    properties = {
        "java.net.preferIPv4Stack": "true",
        "java.library.path": target / "native",
        "user.home": home,
        "java.io.tmpdir": home,
    }
    defines = [f"-D{key}={value}" for key, value in properties.items()]
    start = ["-cp", f"{target}/classes:{target}/lib/*", f"org.apache.rocketmq.{main}"]
    environment = os.environ | {"ROCKETMQ_HOME": str(home), "LD_PRELOAD": str(java_programs.loopback_shim())}
    return launch(["java", *flags, *defines, *start, "-c", str(home / "server.conf")], home, environment)


def _tailfin(home: Path, settings: Settings) -> Broker:
    port, namesrv = free_broker_port(), free_broker_port()
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    ports = ["--port", str(namesrv), "--broker-port", str(port)]
    command = [sys.executable, "-m", "tailfin", "start", "--data", str(home / "store"), *ports, *sets]
    began = time.monotonic()
    process = launch(command, home, dict(os.environ))
    names = f"{LOOPBACK}:{namesrv}"
    address, output = f"{LOOPBACK}:{port}", home / "output"
    return Broker("tailfin", address, process, home, output, started=began, namesrv=names)


def _limit(home: Path, settings: Settings) -> Broker:
    """Start the server that only answers; what is set for brokers means nothing to it."""
    del settings
    port = free_broker_port()
    address = f"{LOOPBACK}:{port}"
    command = [
        sys.executable,
        "-m",
        "tailfin",
        "bench",
        "limit-server",
        "--listen",
        address,
        "--dir",
        str(home),
    ]
    began = time.monotonic()
    process = launch(command, home, dict(os.environ))
    return Broker("limit", address, process, home, home / "output", started=began)


def launch(command: list[str], home: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with (home / "output").open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
