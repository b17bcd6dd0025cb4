"""What is measured with a connector of any kind: reading a topic in ways, and writing to it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from bench.spark.measuring import Wanted, check, measure, nowhere

QUEUES = 8
WARM_UP_SHARE = 4


@dataclass(frozen=True)
class Connector:
    """A Spark connector, and how it is told what to do."""

    format: str
    body: str  # the column
    read: Mapping[str, str]
    write: Mapping[str, str]
    stream: Mapping[str, str] = field(default_factory=lambda: {"startingOffsets": "earliest"})
    keeps: bool = True  # what was written can be read


def read(spark: SparkSession, connector: Connector, asked: Wanted) -> None:
    """Read the topic once to warm up, then measure a scan, a stream that catches up, and a scan to files."""
    table = spark.read.format(connector.format).options(**connector.read).load()
    check(table, connector.body, asked.body, asked.count)
    files = asked.scratch / "parquet"
    for number in range(asked.runs):
        measure("scan", asked, partial(nowhere, table))
        measure("catch-up", asked, partial(catch_up, spark, connector, asked, number))
        measure("parquet", asked, partial(table.write.parquet, str(files)))
        shutil.rmtree(files)


def catch_up(spark: SparkSession, connector: Connector, asked: Wanted, number: int) -> None:
    """Stream everything that is there, then stop."""
    options = {**connector.read, **connector.stream}
    stream = spark.readStream.format(connector.format).options(**options).load()
    writer = stream.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(asked.scratch / f"checkpoint-{number}")).start()
    query.awaitTermination()
    rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    if rows != asked.count:
        raise SystemExit(f"the stream brought {rows} of {asked.count} rows")


def write(spark: SparkSession, connector: Connector, asked: Wanted) -> None:
    """Write to the topic to warm up, then measure; at last make sure that everything is in it."""

    def send(count: int) -> None:
        writer = messages(spark, connector.body, asked.body, count).write.format(connector.format)
        writer.options(**connector.write).mode("append").save()

    first = asked.count // WARM_UP_SHARE
    send(first)
    for _ in range(asked.runs):
        measure("sink", asked, partial(send, asked.count))
    if connector.keeps:
        table = spark.read.format(connector.format).options(**connector.read).load()
        check(table, connector.body, asked.body, first + asked.runs * asked.count)


def messages(spark: SparkSession, column: str, size: int, count: int) -> DataFrame:
    """Make rows that cost next to nothing: one body, over and over."""
    return spark.range(0, count, 1, QUEUES).selectExpr(f"cast(repeat('x', {size}) as binary) as {column}")
