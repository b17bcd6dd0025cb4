"""Spark Connect: a real server that has Tailfin, and a client that has nothing but `pyspark-client`.

`make` puts the client beside the newest PySpark, whose server this is.
"""

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

import tailfin
from tailfin.spark.sink.options import AT_LEAST_ONCE, EXACTLY_ONCE
from tailfin.testing import cluster, until
from tests.spark import homes
from tests.spark.sinking import visible
from tests.unit.spark.arriving import readable

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / ".build/pyspark/client"
SOURCES = Path(tailfin.__file__).parents[1]
INSTALLED = Path(pyspark.__file__).parent
STARTS_WITHIN_S = 120
JOB_S = 300
WRITTEN = [
    f"{kind}-{guarantee}" for kind in ("batch", "stream") for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE)
]
JOB = """\
import importlib.util, json, sys
from pyspark.sql import SparkSession
remote, namesrv, checkpoint = sys.argv[1:]
spark = SparkSession.builder.remote(remote).getOrCreate()
orders = spark.read.format("rocketmq").options(nameServer=namesrv, topic="orders")
follow = spark.readStream.format("rocketmq").options(nameServer=namesrv, topic="orders")
follow = follow.option("startingOffsets", "earliest")
for guarantee in ("at-least-once", "exactly-once"):
    written = dict(nameServer=namesrv, deliveryGuarantee=guarantee)
    writer = orders.load().select("body").write.format("rocketmq").options(**written)
    writer.option("topic", "batch-" + guarantee).mode("append").save()
    writer = follow.load().select("body").writeStream.format("rocketmq").options(**written)
    writer = writer.options(topic="stream-" + guarantee, checkpointLocation=checkpoint + "/" + guarantee)
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
rows = orders.load().selectExpr("CAST(body AS string) AS body").collect()
found = {"bodies": sorted(row.body for row in rows), "tailfin": bool(importlib.util.find_spec("tailfin"))}
print("FOUND", json.dumps(found))
spark.stop()
"""


@contextmanager
def connect_server(home: Path) -> Iterator[str]:
    """Run a server; give the address for clients."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    spark_home = homes.unzipped(INSTALLED, home / "spark")
    command = [str(spark_home / "bin/spark-submit"), "--master", "local[2]"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = os.environ | {
        "PYTHONPATH": str(SOURCES),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def answers() -> bool:
        assert server.poll() is None, (home / "server.log").read_text()
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", port)) == 0

    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=log)
        try:
            until(answers, timeout=STARTS_WITHIN_S)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def test_a_client_without_tailfin_reads_and_writes_through_the_server(tmp_path: Path) -> None:
    bodies = [str(number) for number in range(10)]
    with cluster() as running, connect_server(tmp_path) as remote:
        with (
            tailfin.AdminClient(nameserver=running.namesrv) as admin,
            tailfin.Producer("shop", nameserver=running.namesrv) as producer,
        ):
            for topic in ("orders", *WRITTEN):
                admin.topics.create(topic, queues=2)
            messages = (tailfin.Message("orders", body.encode()) for body in bodies)
            readable(admin, map(producer.send, messages))
        (tmp_path / "job.py").write_text(JOB)
        done = subprocess.run(
            # -S: what this environment has installed is not the client's.
            [sys.executable, "-S", "job.py", remote, running.namesrv, str(tmp_path / "checkpoint")],
            env=os.environ | {"PYTHONPATH": str(CLIENT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=JOB_S,
        )
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
        assert json.loads(line.removeprefix("FOUND ")) == {"bodies": bodies, "tailfin": False}
        written = {topic: visible(running.namesrv, topic, least=10) for topic in WRITTEN}
    assert written == {topic: Counter(bodies) for topic in WRITTEN}
