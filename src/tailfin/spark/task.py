"""What a task does: read a part of a queue, and give Spark its batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tailfin.arrow.ranges import QueueRange, RangeReader
from tailfin.client.options import ClientKeywords
from tailfin.spark.bad_records import BadRecords
from tailfin.spark.body_formats import body_format
from tailfin.spark.columns import Layout
from tailfin.spark.filters import Kept
from tailfin.spark.memory import keep_freed
from tailfin.spark.options import SourceOptions


@dataclass(frozen=True)
class Task:
    """Everything but the part that reading needs; it travels to executors inside the reader."""

    options: SourceOptions
    keywords: ClientKeywords
    layout: Layout
    kept: Kept

    def batches(self, part: QueueRange) -> Iterator[pa.RecordBatch]:
        """Yield what a part has, in batches as Spark expects them."""
        keep_freed()
        options = self.options
        reader = RangeReader.of(**self.keywords)
        found = reader.read(
            part,
            expression=self.kept.expression(options),
            sql=options.expressionType == "SQL92",
            columns=self._columns(),
            pull_batch=options.pullBatchSize,
            pull_timeout=options.pullTimeoutMs / 1000,
            on_loss="fail" if options.failOnDataLoss else "skip",
        )
        for messages in found:
            batch = self._batch(self.kept.of(messages))
            if batch.num_rows:
                yield batch

    def _columns(self) -> set[str]:
        """Return the columns of messages that are shown, compared, decoded or told of a bad record."""
        decoding = BadRecords.COLUMNS if self.layout.decoded is not None else ()
        return {*self.layout.of_messages(), *self.kept.allowed, *decoding}

    def _batch(self, messages: pa.RecordBatch) -> pa.RecordBatch:
        if self.layout.decoded is None:
            return self.layout.batch(messages, None)
        values, bad = body_format(self.options).decode(messages.column("body"), self.layout.decoded)
        if bad:
            BadRecords(self.options, self.keywords).handle(messages, bad)
            good = pa.array([index not in bad for index in range(len(values))])
            messages, values = messages.filter(good), values.filter(good)
        return self.layout.batch(messages, values)
