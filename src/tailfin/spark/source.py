"""The data source `rocketmq`. Nothing heavy is imported before it is used: Spark looks at every source."""

import importlib.util
import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from tailfin.spark.options import SourceOptions

PUSHES_FILTERS = "pyspark.sql.worker.data_source_pushdown_filters"
"""The module of the worker that pushes filters; spark.sql.python.filterPushdown.enabled makes it run."""

HAS_LIMITS = "pyspark.sql.streaming.datasource"
"""A module of PySpark since 4.2."""


class RocketMQDataSource(DataSource):
    """Topics of a RocketMQ cluster as DataFrames: `spark.read.format("rocketmq")`, and `df.write` likewise.

    The options are those of `tailfin.spark.options` and `tailfin.spark.sink.options`; docs/spark.md is the
    guide.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "rocketmq"

    def _source_options(self) -> "SourceOptions":
        from tailfin.spark.options import SourceOptions

        return SourceOptions.parse(self.options)

    def schema(self) -> StructType | str:
        """Return the columns: a message's, and what its body is decoded to."""
        from tailfin.spark import columns

        return columns.ddl(self._source_options())

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads topics once."""
        from tailfin.spark import batch

        kind = batch.FilteringBatchReader if PUSHES_FILTERS in sys.modules else batch.BatchReader
        return kind(self._source_options(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return what follows topics."""
        options = self._source_options()
        if importlib.util.find_spec(HAS_LIMITS) is None:
            from tailfin.spark.plain_stream_reader import PlainStreamReader

            return PlainStreamReader(options, schema)
        from tailfin.spark.stream_readers import StreamReader

        return StreamReader(options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what writes a DataFrame's rows as messages."""
        from tailfin.spark.sink.writing import BatchWriter, Sink

        return BatchWriter(Sink.of(self.options, schema, overwrite=overwrite, streams=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return what writes a stream's rows as messages."""
        from tailfin.spark.sink.writing import Sink, stream_writer

        return stream_writer(Sink.of(self.options, schema, overwrite=overwrite, streams=True))
