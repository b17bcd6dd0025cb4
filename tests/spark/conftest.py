"""One Spark and one cluster of each make for all tests: a JVM takes ten seconds to start."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from pyspark.sql import SparkSession

import tailfin
from tailfin.testing import cluster
from tests.interop.clients import clusters, java_programs
from tests.spark import homes
from tests.unit.spark.arriving import readable

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader

_numbers = count()


@pytest.fixture(scope="session", autouse=True)
def quick_start() -> None:
    """Let every JVM of Spark, also those that tests start, compile quickly: none of them runs for long."""
    options = " ".join(java_programs.QUICK_START)
    os.environ["SPARK_SUBMIT_OPTS"] = options
    os.environ["SPARK_LAUNCHER_OPTS"] = options


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on two cores of this machine; nothing is registered with it."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    home = homes.unzipped(Path(pyspark.__file__).parent, tmp_path_factory.mktemp("spark") / "home")
    os.environ["SPARK_HOME"] = str(home)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tailfin tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    del os.environ["SPARK_HOME"]  # those that tests start have the one that is installed
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@dataclass
class Broker:
    """A cluster, as the tests of Spark see it."""

    make: str
    namesrv: str
    spark: SparkSession
    admin: tailfin.AdminClient
    producer: tailfin.Producer

    def topic(self, queues: int = 2) -> str:
        """Make a topic of a new name."""
        name = f"spark-{next(_numbers)}"
        self.admin.topics.create(name, queues=queues)
        return name

    def send(self, topic: str, bodies: Sequence[bytes], **properties: str) -> list[tailfin.SendResult]:
        """Send bodies to the queues of a topic in turn, one after the other; return what the broker said."""
        queues = self.producer.queues(topic)
        messages = [tailfin.Message(topic, body, properties=properties) for body in bodies]
        sent = (
            self.producer.send(message, queue=queues[index % len(queues)])
            for index, message in enumerate(messages)
        )
        return readable(self.admin, sent)

    def reader(self, **options: object) -> "DataFrameReader":
        """Return a batch reader; nothing was registered for it."""
        return self.spark.read.format("rocketmq").options(nameServer=self.namesrv, **_texts(options))

    def stream(self, **options: object) -> "DataStreamReader":
        """Return a stream reader."""
        return self.spark.readStream.format("rocketmq").options(nameServer=self.namesrv, **_texts(options))


def _texts(options: dict[str, object]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()
    }


@pytest.fixture(scope="session")
def tailfin_broker(spark: SparkSession) -> Iterator[Broker]:
    """Tailfin's own servers, in this process."""
    with cluster(enablePropertyFilter=True) as running:
        yield from _broker("tailfin", running.namesrv, spark)


@pytest.fixture(scope="session")
def official_broker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The official servers."""
    # It writes down soon which transactions are ended, and not seconds later.
    soon = {"transactionOpBatchInterval": 300}
    with clusters.uniform("official", tmp_path_factory.mktemp("official"), soon) as running:
        yield from _broker("official", running.namesrv, spark)


def _broker(make: str, namesrv: str, spark: SparkSession) -> Iterator[Broker]:
    with (
        tailfin.AdminClient(nameserver=namesrv) as admin,
        tailfin.Producer("spark-tests", nameserver=namesrv) as producer,
    ):
        yield Broker(make, namesrv, spark, admin, producer)


@pytest.fixture(params=["tailfin_broker", "official_broker"])
def broker(request: pytest.FixtureRequest) -> Broker:
    """Both makes, one after the other."""
    found: Broker = request.getfixturevalue(request.param)
    return found
