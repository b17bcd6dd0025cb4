"""What is measured with a connector of any kind: reading a topic in ways, and writing to it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from bench.spark.measuring import Wanted, check, measure, nowhere

QUEUES = 8
WARM_UP_SHARE = 4
FEW_OF_A_MESSAGE = (
    "keys string, body binary, topic string, queueId int, queueOffset bigint, storeTimestamp timestamp, "
    "sysFlag int"
)
"""What a message has of the seven columns that Kafka's connector gives, in their order."""

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


@dataclass(frozen=True)
class Connector:
    """A Spark connector, and how it is told what to do."""

    format: str
    body: str  # the column
    read: Mapping[str, str]
    write: Mapping[str, str]
    stream: Mapping[str, str] = field(default_factory=lambda: {"startingOffsets": "earliest"})
    few: str = ""  # columns that are also measured alone
    keeps: bool = True  # what was written can be read

    def tables(self) -> dict[str, str]:
        """Return the columns of what is read, by what stands behind the names of figures."""
        return {"": ""} | ({"-few": self.few} if self.few else {})


def read(spark: SparkSession, connector: Connector, asked: Wanted) -> None:
    """Read the topic once to warm up, then measure a scan, a stream that catches up, and a scan to files."""
    files = asked.scratch / "parquet"
    for kind, columns in connector.tables().items():
        table = with_columns(spark.read, columns).format(connector.format).options(**connector.read).load()
        check(table, connector.body, asked.body, asked.count)
        for number in range(asked.runs):
            checkpoint = asked.scratch / f"checkpoint{kind}-{number}"
            measure(f"scan{kind}", asked, partial(nowhere, table))
            measure(f"catch-up{kind}", asked, partial(catch_up, spark, connector, asked, columns, checkpoint))
            measure(f"parquet{kind}", asked, partial(table.write.parquet, str(files)))
            shutil.rmtree(files)


def catch_up(
    spark: SparkSession, connector: Connector, asked: Wanted, columns: str, checkpoint: Path
) -> None:
    """Stream everything that is there, then stop."""
    options = {**connector.read, **connector.stream}
    stream = with_columns(spark.readStream, columns).format(connector.format).options(**options).load()
    writer = stream.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    if rows != asked.count:
        raise SystemExit(f"the stream brought {rows} of {asked.count} rows")


def with_columns(reader: Reader, columns: str) -> Reader:
    """Have just some columns read; none is all."""
    return reader.schema(columns) if columns else reader


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
