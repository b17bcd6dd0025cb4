"""Reading a topic once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tailfin.arrow.ranges import QueueRange
from tailfin.client.errors import ClientError
from tailfin.spark.columns import layout
from tailfin.spark.filters import Kept, Pushed, push
from tailfin.spark.options import SourceOptions
from tailfin.spark.partition import RangePartition
from tailfin.spark.places import Ends, where
from tailfin.spark.planning import ranges, split, still_there
from tailfin.spark.selection import selection
from tailfin.spark.task import Task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from tailfin.client.queues import Queue
    from tailfin.spark.asking import Cluster


class BatchReader(DataSourceReader):
    """Reads what is between two places of each queue."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._chosen = selection(options)
        self._start = where("starting", options.startingOffsets, options.startingTimestamp, "earliest")
        self._end = where("ending", options.endingOffsets, options.endingTimestamp, "latest")
        self._pushed = Pushed()
        self._task = Task(options, options.client_keywords(), layout(schema, options), Kept())

    def partitions(self) -> Sequence[InputPartition]:
        """Ask brokers how far queues go, and cut what is read into tasks."""
        from tailfin.spark.asking import Cluster  # executors have no use for it

        cluster = Cluster.of(self._task.keywords)
        there = cluster.queues(self._chosen)
        if not there:
            raise ClientError(f"no topic matches topicPattern {self._options.topicPattern!r}")
        for edge in (self._start, self._end):
            edge.check(there)
        wanted = still_there(self._ranges(cluster, there), there, fail=self._options.failOnDataLoss)
        tasks = split(
            self._shortened(cluster, there, wanted),
            least=self._options.minPartitions,
            longest=self._options.maxRecordsPerPartition,
        )
        return [RangePartition(part) for part in tasks]

    def _ranges(self, cluster: "Cluster", there: "dict[Queue, Ends]") -> list[QueueRange]:
        edges = []
        for edge in (self._start, self._end):
            at_time = cluster.at_times(edge.times(there))
            edges.append({queue: edge.offset(queue, ends, at_time) for queue, ends in there.items()})
        return [part for part in ranges(*edges) if self._pushed.wants(part.queue)]

    def _shortened(
        self, cluster: "Cluster", there: "dict[Queue, Ends]", wanted: list[QueueRange]
    ) -> list[QueueRange]:
        shorter = [self._pushed.within(part) for part in wanted]
        begin, end = self._pushed.time_bounds()
        queues = [part.queue for part in shorter]
        if begin is not None:
            first = cluster.at_times(dict.fromkeys(queues, begin))
            shorter = [replace(part, start=max(part.start, first[part.queue])) for part in shorter]
        if end is not None:
            last = cluster.at_times(dict.fromkeys(queues, end))
            shorter = [replace(part, end=min(part.end, last[part.queue])) for part in shorter]
        return shorter

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Read one part of a queue."""
        return read(self._task, partition)


class FilteringBatchReader(BatchReader):
    """The same, with filters of the query: Spark fails on a reader that has this method without need."""

    def pushFilters(self, filters: "list[Filter]") -> "Iterable[Filter]":
        """Take over what can be taken over; return the rest."""
        self._pushed, left = push(filters)
        self._task = replace(self._task, kept=self._pushed.kept)
        return left


def read(task: Task, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
    """Read what a partition says; Spark makes one of its own when there is nothing to read."""
    if isinstance(partition, RangePartition):
        partition.check()
        yield from task.batches(partition.part)
