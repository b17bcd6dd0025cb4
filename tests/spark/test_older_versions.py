"""Older versions of PySpark, each in a process of its own: what they have works, what they lack is said.

`make` puts them beside the newest one, which all other tests use.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tailfin
from tailfin.spark.sink.options import AT_LEAST_ONCE, EXACTLY_ONCE
from tailfin.testing import cluster
from tests.spark import homes
from tests.spark.sinking import visible
from tests.unit.spark.arriving import readable

ROOT = Path(__file__).parents[2]
SOURCES = Path(tailfin.__file__).parents[1]
JOB_S = 300
WRITTEN = [
    f"{kind}-{guarantee}" for kind in ("batch", "stream") for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE)
]
JOB = """\
import json, sys
import pyspark
from pyspark.sql import SparkSession
namesrv, checkpoint, limited = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
read = spark.read.format("rocketmq").options(nameServer=namesrv, topic="orders")
stream = spark.readStream.format("rocketmq").options(nameServer=namesrv, topic="orders")
stream = stream.option("startingOffsets", "earliest")

def copied(frame, name):
    batches = []
    def take(batch, number):
        batches.append(sorted(row.id for row in batch.select("id").collect()))
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint + "/" + name)
    writer.trigger(availableNow=True).start().awaitTermination(120)
    return [batch for batch in batches if batch]

decoding = dict(format="json", schema="id bigint")
found = {
    "version": pyspark.__version__,
    "rows": read.load().count(),
    "properties": [row.properties["n"] for row in read.option("includeProperties", "true").load().collect()],
    "ids": sorted(row.id for row in spark.read.format("rocketmq").options(
        nameServer=namesrv, topic="orders", **decoding).load().collect()),
    "stream": copied(stream.options(**decoding).load(), "all"),
}

rows = "CAST(id AS string) AS body", "'paid' AS tags", "map('n', CAST(id AS string)) AS properties"
for guarantee in ("at-least-once", "exactly-once"):
    written = dict(nameServer=namesrv, deliveryGuarantee=guarantee)
    ids = read.options(**decoding).load().selectExpr(*rows)
    ids.write.format("rocketmq").options(topic="batch-" + guarantee, **written).mode("append").save()
    ids = stream.options(**decoding).load().selectExpr(*rows)
    writer = ids.writeStream.format("rocketmq").options(topic="stream-" + guarantee, **written)
    writer = writer.option("checkpointLocation", checkpoint + "/" + guarantee)
    writer.trigger(availableNow=True).start().awaitTermination(120)
try:
    found["limited"] = copied(stream.options(maxOffsetsPerTrigger=limited, **decoding).load(), "limited")
except Exception as error:
    found["limited"] = str(error)
print("FOUND", json.dumps(found))
spark.stop()
"""


def run(version: str, tmp_path: Path) -> dict[str, object]:
    home = ROOT / ".build/pyspark" / version
    environment = os.environ | {
        "PYTHONPATH": f"{home}{os.pathsep}{SOURCES}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(homes.unzipped(home / "pyspark", tmp_path / "home")),
    }
    (tmp_path / "job.py").write_text(JOB)
    with cluster() as running:
        with (
            tailfin.AdminClient(nameserver=running.namesrv) as admin,
            tailfin.Producer("shop", nameserver=running.namesrv) as producer,
        ):
            for topic in ("orders", *WRITTEN):
                admin.topics.create(topic, queues=1)
            messages = [
                tailfin.Message("orders", b'{"id": %d}' % number, properties={"n": str(number)})
                for number in range(10)
            ]
            readable(admin, map(producer.send, messages))
        done = subprocess.run(
            [sys.executable, tmp_path / "job.py", running.namesrv, str(tmp_path / "checkpoint"), "6"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=JOB_S,
        )
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
        found: dict[str, object] = json.loads(line.removeprefix("FOUND "))
        found["written"] = {topic: visible(running.namesrv, topic, least=10) for topic in WRITTEN}
    return found


@pytest.mark.parametrize(
    ("version", "limited"),
    [
        ("4.0", "maxOffsetsPerTrigger needs PySpark 4.2 or newer"),
        ("4.2", [list(range(6)), list(range(6, 10))]),
    ],
)
def test_topics_are_read_and_followed_and_written(version: str, limited: object, tmp_path: Path) -> None:
    found = run(version, tmp_path)

    assert str(found["version"]).startswith(version)
    assert found["rows"] == 10
    assert found["properties"] == [str(number) for number in range(10)]
    assert found["ids"] == list(range(10))
    assert found["stream"] == [list(range(10))]
    assert found["written"] == {topic: Counter(map(str, range(10))) for topic in WRITTEN}
    if isinstance(limited, str):
        assert limited in str(found["limited"])
    else:
        assert found["limited"] == limited
