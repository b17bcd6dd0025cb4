"""The data source `rocketmq-store`. Nothing heavy is imported before its use: Spark looks at every source."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tailfin.spark.store_options import StoreOptions
    from tailfin.spark.store_planning import LogPart


class RocketMQStoreDataSource(DataSource):
    """The files of a store as a DataFrame: `spark.read.format("rocketmq-store").load(path)`; no broker runs.

    The options are those of `tailfin.spark.store_options`; docs/spark.md is the guide.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "rocketmq-store"

    def _store_options(self) -> "StoreOptions":
        from tailfin.spark.store_options import StoreOptions

        return StoreOptions.parse(self.options)

    def schema(self) -> str:
        """Return the columns of a message."""
        from tailfin.arrow.schema import spark_schema

        return spark_schema(properties=self._store_options().includeProperties)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the files."""
        from tailfin.spark.columns import check_own

        return StoreReader(self._store_options(), check_own(schema))


class StorePartition(InputPartition):
    """The part of a log that one task reads."""

    def __init__(self, part: "LogPart") -> None:
        self.part = part


class StoreReader(DataSourceReader):
    """Reads store files; it travels to executors as it is."""

    def __init__(self, options: "StoreOptions", columns: list[str]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        """Share the files out among tasks."""
        from tailfin.spark.store_planning import log_parts

        parts = log_parts(self._options.directories(), self._options.splitBytes)
        return [StorePartition(part) for part in parts]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the messages of one part."""
        from tailfin.spark.store_task import batches

        # Without any part Spark makes one of its own.
        if not isinstance(partition, StorePartition):
            return iter(())
        return batches(partition.part, self._options, self._columns)
