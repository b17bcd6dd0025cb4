"""The ceiling of Python data sources: one that repeats ready Arrow batches, and counts what is written."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from tailfin.arrow.schema import message_schema, spark_schema

BATCH_ROWS = 10_000
QUEUES = 8


@functools.cache
def ready_batch(body: int, names: tuple[str, ...]) -> pa.RecordBatch:
    """Make the batch that is repeated, with values as long as those of messages that were sent."""
    same = {
        "topic": "Bench",
        "brokerName": "broker-a",
        "queueId": 7,
        "tags": None,
        "keys": None,
        "body": b"x" * body,
        "bornTimestamp": 1_800_000_000_000_000,
        "storeTimestamp": 1_800_000_000_000_000,
        "bornHost": "127.0.0.1:40000",
        "storeHost": "127.0.0.1:10911",
        "reconsumeTimes": 0,
        "sysFlag": 0,
        "flag": 0,
    }
    numbers = range(BATCH_ROWS)
    columns = {name: [value] * BATCH_ROWS for name, value in same.items()} | {
        "queueOffset": list(numbers),
        "msgId": [f"{number:032X}" for number in numbers],
        "offsetMsgId": [f"{number:032X}" for number in numbers],
    }
    schema = pa.schema([message_schema().field(name) for name in names])
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Span(InputPartition):
    """Rows of one queue."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


@dataclass
class Repeating:
    """Repeats the batch."""

    body: int
    columns: tuple[str, ...]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Span)
        batch = ready_batch(self.body, self.columns)
        for _ in range(partition.rows // BATCH_ROWS):
            yield batch
        if rest := partition.rows % BATCH_ROWS:
            yield batch.slice(0, rest)


@dataclass
class Reader(Repeating, DataSourceReader):
    count: int

    def partitions(self) -> Sequence[InputPartition]:
        return [Span(self.count // QUEUES) for _ in range(QUEUES)]


@dataclass
class StreamReader(Repeating, DataSourceStreamReader):
    count: int

    def initialOffset(self) -> dict[str, int]:
        return {"each": 0}

    def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: ANN401
        return {"each": self.count // QUEUES}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Span(end["each"] - start["each"]) for _ in range(QUEUES)]


@dataclass
class Counted(WriterCommitMessage):
    rows: int


class Writer(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Counted:
        return Counted(sum(batch.num_rows for batch in iterator))


class Ceiling(DataSource):
    @classmethod
    def name(cls) -> str:
        return "ceiling"

    def schema(self) -> str:
        return spark_schema()

    def reader(self, schema: StructType) -> Reader:
        return Reader(*self._repeated(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        return StreamReader(*self._repeated(schema))

    def _repeated(self, schema: StructType) -> tuple[int, tuple[str, ...], int]:
        return int(self.options["body"]), tuple(schema.fieldNames()), int(self.options["count"])

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        del schema, overwrite
        return Writer()
