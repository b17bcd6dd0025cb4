"""The stream reader of PySpark 4.0 and 4.1, which know no limits."""

from typing import Any

import pyspark
from pyspark.sql.types import StructType

from tailfin.config.setting import ConfigError
from tailfin.spark.offsets import Position
from tailfin.spark.options import SourceOptions
from tailfin.spark.stream import Following


class PlainStreamReader(Following):
    """Follows topics; every batch takes all that is there."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        for name in ("maxOffsetsPerTrigger", "maxBytesPerTrigger"):
            if getattr(options, name):
                raise ConfigError(f"{name} needs PySpark 4.2 or newer, and this is {pyspark.__version__}")
        super().__init__(options, schema)

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # what these versions call
        """Return where the next batch ends."""
        there = self._look()
        if not self._end.offsets:
            # A restarted query has not said yet where it is; its first batch will.
            return Position({queue: ends.end for queue, ends in there.items()}).to_json()
        return self._advanced(self._end, there, None)
