"""A standalone cluster: a master and two workers, each a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pyspark
import pytest

import tailfin
from tailfin.testing import Cluster, cluster, until
from tests.interop.clients import java_programs
from tests.spark import homes
from tests.unit.spark.arriving import readable

SOURCES = Path(tailfin.__file__).parents[1]
INSTALLED = Path(pyspark.__file__).parent
QUICK_START = " ".join(java_programs.QUICK_START)
READY_S = 60
JOB_S = 120
JOB = """\
from pyspark.sql import SparkSession, functions as F
spark = (
    SparkSession.builder.master("{master}")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.executor.memory", "512m")
    .config("spark.cores.max", "2")
    .config("spark.executor.cores", "1")
    .config("spark.executor.extraJavaOptions", "{java}")
    .config("spark.executorEnv.PYTHONPATH", "{path}")
    .config("spark.task.maxFailures", "1")
    .getOrCreate()
)
options = dict(nameServer="{namesrv}", topic="orders", minPartitions="4")
frame = spark.read.format("rocketmq").options(**options).load()
print("ROWS", frame.count(), frame.select("msgId").distinct().count())
spark.stop()
"""
OTHER_VERSION = """\
import tailfin
tailfin.__version__ = "0.0.7"
"""


@contextmanager
def deployed(spark_home: Path, kind: str, home: Path, *arguments: str) -> Iterator[Path]:
    """Run a master or a worker; give the file it logs to."""
    home.mkdir()
    log = home / "log"
    environment = os.environ | {
        "SPARK_HOME": str(spark_home),
        "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(home / "work"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [spark_home / "bin/spark-class", f"org.apache.spark.deploy.{kind}", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers."""
    home = tmp_path_factory.mktemp("standalone")
    start = partial(deployed, homes.unzipped(INSTALLED, home / "spark"))
    places = ("--host", "127.0.0.1", "--webui-port", "0")
    size = ("--cores", "1", "--memory", "700m")
    with ExitStack() as stack:
        log = stack.enter_context(start("master.Master", home / "master", *places, "--port", "0"))
        address = until(lambda: re.findall(r"spark://127\.0\.0\.1:\d+", log.read_text()), READY_S)[0]
        workers = [
            stack.enter_context(start("worker.Worker", home / name, *places, *size, address))
            for name in ("one", "two")
        ]
        until(lambda: all("Successfully registered" in worker.read_text() for worker in workers), READY_S)
        yield address


@pytest.fixture(scope="module")
def filled() -> Iterator[Cluster]:
    """A cluster with a topic of 1,000 messages."""
    with cluster() as running:
        with (
            tailfin.AdminClient(nameserver=running.namesrv) as admin,
            tailfin.Producer("shop", nameserver=running.namesrv) as producer,
        ):
            admin.topics.create("orders", queues=2)
            receipts = [
                producer.send_soon(tailfin.Message("orders", b"%d" % number)) for number in range(1000)
            ]
            readable(admin, (receipt.result() for receipt in receipts))
        yield running


def run(master: str, namesrv: str, path: str, home: Path) -> "subprocess.CompletedProcess[str]":
    program = home / "job.py"
    program.write_text(JOB.format(master=master, namesrv=namesrv, path=path, java=QUICK_START))
    environment = os.environ | {
        "PYTHONPATH": str(SOURCES),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, program], env=environment, cwd=home, capture_output=True, text=True, timeout=JOB_S
    )


def test_workers_read_what_the_driver_planned(master: str, filled: Cluster, tmp_path: Path) -> None:
    done = run(master, filled.namesrv, str(SOURCES), tmp_path)

    assert "ROWS 1000 1000" in done.stdout, done.stderr


def test_an_executor_with_another_version_is_refused_by_name(
    master: str, filled: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(OTHER_VERSION)
    done = run(master, filled.namesrv, f"{tmp_path}:{SOURCES}", tmp_path)

    assert done.returncode != 0
    assert f"the driver has tailfin {tailfin.__version__} and this executor 0.0.7" in done.stderr
