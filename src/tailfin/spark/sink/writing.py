"""What Spark calls to write: a writer is made for each write or micro-batch, and copied to executors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import Row, StructType

import tailfin
from tailfin.config.setting import ConfigError
from tailfin.spark.errors import VersionMismatch
from tailfin.spark.sink.columns import check_columns
from tailfin.spark.sink.committing import Committer
from tailfin.spark.sink.decisions import ATTEMPT, PARTITION, BatchName, Halves
from tailfin.spark.sink.ending import Endings, half_marks
from tailfin.spark.sink.line import Line
from tailfin.spark.sink.options import SinkOptions
from tailfin.spark.sink.sending import Sending

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter as StreamArrowWriter
else:
    # Spark 4.0 gives streams rows only.
    StreamArrowWriter = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)

ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has written.

    Attributes:
        rows: how many.
        name: the batch they belong to.
        halves: where they stand, until the batch is committed; none when they are messages already.
    """

    rows: int
    name: BatchName
    halves: tuple[Halves, ...] = ()


@dataclass(frozen=True)
class Sink:
    """What writers of batches and of streams have in common.

    Attributes:
        options: the user's.
        schema: the columns of the rows.
        write_id: the name of a write that is no stream's.
        version: the driver's of Tailfin.
    """

    options: SinkOptions
    schema: StructType
    write_id: str = field(default_factory=lambda: f"write-{uuid4()}")
    version: str = tailfin.__version__

    @classmethod
    def of(cls, given: Mapping[str, str], schema: StructType, *, overwrite: bool, streams: bool) -> "Sink":
        """Check what a user wants written, and how.

        Raises:
            ConfigError: an option or a column that cannot be.
        """
        options = SinkOptions.parse(given)
        # An executor's environment may name another one, or none.
        options = replace(options, nameServer=str(options.client_keywords()["nameserver"]))
        if overwrite and not streams:
            raise ConfigError("a topic is only ever appended to: write with mode('append')")
        if options.writeId and streams:
            raise ConfigError("writeId is for batch writes: a stream is known by its checkpoint")
        check_columns(schema, options)
        return cls(options, schema, options.writeId) if options.writeId else cls(options, schema)

    def write(self, batches: Iterator[pa.RecordBatch], name: BatchName) -> Written:
        """Write the rows of a task."""
        if self.version != tailfin.__version__:
            raise VersionMismatch(self.version, tailfin.__version__)
        line = Line(self.options)
        if not self.options.is_exactly_once:
            return Written(Sending(line).send(batches), name)
        context = TaskContext.get()
        place = {PARTITION: context.partitionId(), ATTEMPT: context.attemptNumber()} if context else {}
        marks = half_marks(line) | name.marks() | {key: str(value) for key, value in place.items()}
        sending = Sending(line, marks)
        try:
            rows = sending.send(batches)
        except BaseException:
            sending.settle()
            Endings(line, str(name)).rollback(sending.halves())
            raise
        return Written(rows, name, tuple(sending.halves()))

    def commit(self, messages: Sequence[WriterCommitMessage | None], *, is_new: bool) -> None:
        """Let consumers have what tasks have written."""
        if committer := self._committer(messages, is_new):
            committer.commit()

    def abort(self, messages: Sequence[WriterCommitMessage | None], *, is_new: bool) -> None:
        """Drop what tasks have written, as far as that is possible."""
        if committer := self._committer(messages, is_new):
            committer.abort()

    def _committer(self, messages: Sequence[WriterCommitMessage | None], is_new: bool) -> Committer | None:
        written = [each for each in messages if isinstance(each, Written)]
        if not written or not self.options.is_exactly_once:
            return None
        halves = [halves for each in written for halves in each.halves]
        return Committer(Line(self.options), written[0].name, halves, is_new=is_new)


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task."""
        return self._sink.write(iterator, BatchName(self._sink.write_id, 0))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the write."""
        self._sink.commit(messages, is_new=not self._sink.options.writeId)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Give the write up."""
        self._sink.abort(messages, is_new=not self._sink.options.writeId)


class StreamWriter(StreamArrowWriter):
    """Writes the micro-batches of a stream."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task."""
        return self._sink.write(iterator, _stream_batch())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a micro-batch."""
        self._sink.commit(messages, is_new=False)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Give a micro-batch up."""
        self._sink.abort(messages, is_new=False)


class RowStreamWriter(DataSourceStreamWriter):
    """Writes the micro-batches of a stream on Spark 4.0, which hands over rows."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[Row]) -> Written:
        """Write the rows of a task."""
        return self._sink.write(batches_of(iterator, self._sink.schema), _stream_batch())

    commit = StreamWriter.commit
    abort = StreamWriter.abort


def stream_writer(sink: Sink) -> DataSourceStreamWriter:
    """Return the writer that this Spark can use."""
    return StreamWriter(sink) if hasattr(datasource, "DataSourceStreamArrowWriter") else RowStreamWriter(sink)


def batches_of(rows: Iterator[Row], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Collect rows into record batches."""
    wanted = to_arrow_schema(schema)
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        columns: list[list[Any]] = [list(column) for column in zip(*chunk, strict=True)]
        arrays = [
            pa.array([_plain(value) for value in column], kind.type)
            for column, kind in zip(columns, wanted, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _plain(value: object) -> object:
    """Return a value as Arrow takes it: a map as pairs."""
    return list(value.items()) if isinstance(value, dict) else value


def _stream_batch() -> BatchName:
    context = TaskContext.get()
    assert context is not None, "a stream is written by tasks"
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    if query is None or batch is None:
        raise ConfigError(
            "this Spark does not tell its tasks which query and batch they belong to: use Spark 4.0 or later"
        )
    return BatchName(query, int(batch))
