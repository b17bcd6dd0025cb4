"""What one task reads, as it travels from the driver to an executor."""

from pyspark.sql.datasource import InputPartition

import tailfin
from tailfin.arrow.ranges import QueueRange
from tailfin.spark.errors import VersionMismatch


class RangePartition(InputPartition):
    """A part of a queue, and the version of Tailfin that planned it."""

    def __init__(self, part: QueueRange, version: str = tailfin.__version__) -> None:
        super().__init__(part)
        self.part = part
        self.version = version

    def check(self) -> None:
        """Raise VersionMismatch when this process has another version."""
        if self.version != tailfin.__version__:
            raise VersionMismatch(self.version, tailfin.__version__)
