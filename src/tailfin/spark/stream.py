"""Following topics: the planning that all versions of PySpark share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from tailfin.arrow.ranges import QueueRange
from tailfin.config.setting import ConfigError
from tailfin.spark.batch import read
from tailfin.spark.columns import layout
from tailfin.spark.filters import Kept
from tailfin.spark.offsets import Position, to_json
from tailfin.spark.options import SourceOptions
from tailfin.spark.partition import RangePartition
from tailfin.spark.places import Ends, where
from tailfin.spark.planning import advance, between, length, split, still_there
from tailfin.spark.selection import selection
from tailfin.spark.task import Task
from tailfin.spark.weighing import rows_for_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from tailfin.client.queues import Queue
    from tailfin.spark.asking import Cluster


class Following(DataSourceStreamReader):
    """What stream readers do, whatever Spark tells them.

    The driver has one for each query, in a process of its own. Executors have copies that only read.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        for name in ("endingOffsets", "endingTimestamp"):
            if getattr(options, name):
                raise ConfigError(f"{name} is for batches: a stream has no end")
        self._options = options
        self._chosen = selection(options)
        self._start = where("starting", options.startingOffsets, options.startingTimestamp, "latest")
        self._task = Task(options, options.client_keywords(), layout(schema, options), Kept())
        self._there: dict[Queue, Ends] = {}
        self._end = Position({})

    @property
    def _cluster(self) -> "Cluster":
        from tailfin.spark.asking import Cluster  # executors have no use for it

        return Cluster.of(self._task.keywords)

    def _look(self) -> "dict[Queue, Ends]":
        self._there = self._cluster.queues(self._chosen, patient=True)
        return self._there

    def initialOffset(self) -> dict[str, Any]:
        """Return where a query without a checkpoint begins."""
        there = self._cluster.queues(self._chosen)
        self._start.check(there)
        at_time = self._cluster.at_times(self._start.times(there))
        offsets = {queue: self._start.offset(queue, ends, at_time) for queue, ends in there.items()}
        return self._reached(Position(offsets, initial=True))

    def _reached(self, position: Position) -> dict[str, Any]:
        self._end = position
        return position.to_json()

    def _advanced(self, start: Position, there: "Mapping[Queue, Ends]", rows: int | None) -> dict[str, Any]:
        return self._reached(advance(start, there, rows, fail=self._options.failOnDataLoss))

    def _rows(
        self, start: Position, there: "Mapping[Queue, Ends]", rows: int | None, size: int
    ) -> int | None:
        """Return how many offsets may be read, by number and by size; 0 bytes: of any size."""
        if not size:
            return rows
        waiting = [
            QueueRange(*queue, max(start.offsets.get(queue, 0), ends.first), ends.end)
            for queue, ends in there.items()
        ]
        by_size = rows_for_bytes([part for part in waiting if length(part)], size, self._cluster.sizes)
        return by_size if rows is None else min(rows, by_size)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut what is between two offsets into tasks."""
        begin, self._end = Position.from_json(start), Position.from_json(end)
        there = self._there
        if not self._end.offsets.keys() <= there.keys():
            there = self._look()
        wanted = still_there(between(begin, self._end, there), there, fail=self._options.failOnDataLoss)
        tasks = split(wanted, least=self._options.minPartitions, longest=self._options.maxRecordsPerPartition)
        return [RangePartition(part) for part in tasks]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Read one part of a queue."""
        return read(self._task, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Note under the group how far the query is, for tools that show lag."""
        if self._options.group:
            self._cluster.commit(self._options.group, Position.from_json(end).offsets)

    def reportLatestOffset(self) -> dict[str, Any]:
        """Return how far queues go, and how much of them the batch leaves; Spark shows it in the progress."""
        ends = {queue: ends.end for queue, ends in self._there.items()}
        places = self._end.offsets
        behind = {queue: places[queue] for queue in ends if places.get(queue, ends[queue]) < ends[queue]}
        seconds = self._cluster.seconds_behind(behind) if behind else 0.0
        messages = sum(ends[queue] - place for queue, place in behind.items())
        return {"lag": {"messages": messages, "seconds": round(seconds, 3)}, "queues": to_json(ends)}

    def stop(self) -> None:
        """Connections stay open for the process's next query."""
