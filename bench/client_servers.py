"""The servers that Python clients are measured on: Tailfin, Kafka, and the official broker behind its proxy.

Their jars and the peers' Python packages are fetched when a case first needs them, below `.build`, and stay
out of the project's own dependencies.
"""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import brokers
from bench.brokers import LOOPBACK, START_SECONDS_MAX, Broker
from bench.sides import JAVA_FLAGS, ROOT, BenchError
from tailfin.load import topics
from tests.interop.clients import java_programs
from tests.interop.clients.servers import free_broker_port

PEERS = ROOT / ".build/peers"
VENV = ROOT / ".build/peers-venv"
SPARK_VENV = ROOT / ".build/spark-kafka-venv"
PACKAGES = {"kafka": "confluent-kafka==2.16.*", "grpc": "rocketmq-python-client==5.1.*"}
# With Spark's connector for Kafka in bench/peers/spark: both must be of one version.
SPARK_PACKAGE = "pyspark==4.0.0"
# The heap that Kafka's own start script gives it, and its collector.
KAFKA_FLAGS = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
# As many messages and bytes to a pull as the client asks for; Kafka's broker gives megabytes by itself.
WIDE_PULLS = {"maxTransferCountOnMessageInMemory": 1024, "maxTransferBytesOnMessageInMemory": 4 << 20}
# The official broker refuses sends that waited for 0.2 s; those of a proxy often do.
PATIENT = {"waitTimeMillsInSendQueue": 10_000}
PROBE_SECONDS = 0.1
QUEUES = 8


def fetch_jars() -> Path:
    """Gather the jars of Kafka, the proxy and Spark's connector, once; return the folder they are in."""
    done = PEERS / "fetched"
    home = ROOT / "bench/peers"
    wanted = "\n".join(pom.read_text() for pom in sorted(home.rglob("pom.xml")))
    if not (done.exists() and done.read_text() == wanted):
        shutil.rmtree(PEERS, ignore_errors=True)  # a jar of another version must not stay beside the new one
        built = subprocess.run(["mvn", "-q", "-B", "-ntp", "package"], cwd=home, check=False)
        if built.returncode != 0:
            raise BenchError("Maven cannot fetch Kafka, the proxy and Spark's connector")
        done.write_text(wanted)
    return PEERS


def peers_python() -> Path:
    """Make the environment of the peers' Python packages, once; return its interpreter."""
    return _environment(VENV, *PACKAGES.values())


def kafka_spark_python() -> Path:
    """Make the environment of the Spark that has a connector for Kafka, once; return its interpreter."""
    return _environment(SPARK_VENV, SPARK_PACKAGE)


def kafka_spark_jars() -> list[Path]:
    """Return the jars of Spark's connector for Kafka."""
    return sorted((fetch_jars() / "spark/lib").glob("*.jar"))


def _environment(home: Path, *packages: str) -> Path:
    done, python = home / "installed", home / "bin/python"
    wanted = "\n".join(packages)
    if not (done.exists() and done.read_text() == wanted):
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        installed = subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=False)
        if installed.returncode != 0:
            raise BenchError(f"pip cannot install {' and '.join(packages)}")
        done.write_text(wanted)
    return python


@dataclass(frozen=True)
class Server:
    """A running server: what its client is given as its address, and the broker behind it."""

    address: str
    broker: Broker


@contextlib.contextmanager
def running(side: str, home: Path, topic: str) -> Iterator[Server]:
    """Run the server of a side with a topic of 8 queues; Kafka's topic is left to its client."""
    if side == "kafka":
        with _kafka(home) as broker:
            yield Server(broker.address, broker)
        return
    make, settings = ("official", PATIENT) if side == "grpc" else (side, WIDE_PULLS)
    with brokers.running(make, home, settings) as broker:
        broker.wait_for_first_send()
        topics.create(broker.address, topic, QUEUES)
        if side == "grpc":
            with _proxy(home / "proxy", broker) as proxy:
                yield Server(proxy.address, broker)
        else:
            yield Server(broker.namesrv, broker)


@contextlib.contextmanager
def _kafka(home: Path) -> Iterator[Broker]:
    """Run Kafka, one node that is its own controller."""
    home.mkdir(parents=True)
    port = free_broker_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{LOOPBACK}:{port + 1}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{port + 1}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": home / "data",
        "offsets.topic.replication.factor": 1,
        "num.partitions": QUEUES,
    }
    conf = home / "server.properties"
    conf.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    classes = ["-cp", f"{fetch_jars()}/kafka/lib/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    form = ["java", *classes, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(conf)]
    subprocess.run(form, check=True, capture_output=True)
    process = brokers.launch(
        ["java", *KAFKA_FLAGS, *classes, "kafka.Kafka", str(conf)], home, dict(os.environ)
    )
    with _ended_at_last(Broker("kafka", f"{LOOPBACK}:{port}", process, home, home / "output")) as server:
        yield server


@contextlib.contextmanager
def _proxy(home: Path, broker: Broker) -> Iterator[Broker]:
    """Run the official proxy for a broker, as a process of its own."""
    (home / "conf").mkdir(parents=True)
    port = free_broker_port()
    settings = {
        "rocketMQClusterName": "DefaultCluster",
        "proxyClusterName": "DefaultCluster",
        "proxyMode": "CLUSTER",
        "namesrvAddr": broker.namesrv,
        "localServeAddr": LOOPBACK,
        "grpcServerPort": port,
        "remotingListenPort": port + 1,
    }
    conf = home / "conf/rmq-proxy.json"
    conf.write_text(json.dumps(settings))
    properties = {"java.net.preferIPv4Stack": "true", "user.home": home, "java.io.tmpdir": home}
    defines = [f"-D{key}={value}" for key, value in properties.items()]
    start = ["-cp", f"{fetch_jars()}/proxy/lib/*", "org.apache.rocketmq.proxy.ProxyStartup", "-pc", str(conf)]
    environment = os.environ | {
        "RMQ_PROXY_HOME": str(home),
        "ROCKETMQ_HOME": str(home),
        "LD_PRELOAD": str(java_programs.loopback_shim()),
    }
    process = brokers.launch(["java", *JAVA_FLAGS, *defines, *start], home, environment)
    with _ended_at_last(Broker("proxy", f"{LOOPBACK}:{port}", process, home, home / "output")) as server:
        yield server


@contextlib.contextmanager
def _ended_at_last(server: Broker) -> Iterator[Broker]:
    """Wait until the server listens; kill it when the block ends."""
    try:
        _wait_until_it_listens(server)
        yield server
    finally:
        server.kill()


def _wait_until_it_listens(server: Broker) -> None:
    host, _, port = server.address.partition(":")
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if server.process.poll() is not None:
            raise BenchError(f"{server.side} ended at its start: {server.said()}")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return
        time.sleep(PROBE_SECONDS)
    raise BenchError(f"{server.side} does not listen within {START_SECONDS_MAX} s: {server.said()}")
