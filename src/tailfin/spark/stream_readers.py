"""The stream reader of PySpark 4.2 and newer: with limits, and `Trigger.AvailableNow` in several batches."""

from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from tailfin.spark.offsets import Position
from tailfin.spark.stream import Following

if TYPE_CHECKING:
    from tailfin.client.queues import Queue
    from tailfin.spark.places import Ends


class StreamReader(Following, SupportsTriggerAvailableNow):
    """Follows topics, a limited part at a time."""

    _target: "dict[Queue, Ends] | None" = None

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that the options say."""
        if self._options.maxOffsetsPerTrigger:
            return ReadMaxRows(self._options.maxOffsetsPerTrigger)
        if self._options.maxBytesPerTrigger:
            return ReadMaxBytes(self._options.maxBytesPerTrigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Note what is there now: nothing that comes later is read, nor any queue that is added."""
        self._target = self._there = self._cluster.queues(self._chosen)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next batch ends."""
        begin = Position.from_json(start)
        there = self._look() if self._target is None else self._target
        return self._advanced(begin, there, self._limited(begin, there, limit))

    def _limited(self, begin: Position, there: "dict[Queue, Ends]", limit: ReadLimit) -> int | None:
        if isinstance(limit, ReadAllAvailable):
            return None
        rows, size = self._options.maxOffsetsPerTrigger or None, self._options.maxBytesPerTrigger
        # Spark may pass on only one of two limits; one that it makes up itself counts as well.
        if isinstance(limit, ReadMaxRows):
            rows = min(limit.max_rows, rows or limit.max_rows)
        if isinstance(limit, ReadMaxBytes):
            size = min(limit.max_bytes, size or limit.max_bytes)
        return self._rows(begin, there, rows, size)
