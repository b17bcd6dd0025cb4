"""Small files of a day that is over, written anew as few large ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailfin.pipeline.archive.layout import Layout
from tailfin.pipeline.days import Compacted, compact_days, files_needed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from pyspark.sql import SparkSession

TARGET_BYTES = 128 * 1024 * 1024
ORDER = ("brokerName", "queueId", "queueOffset")


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """Writes the files of a day anew, in the order of their queues."""

    session: "SparkSession"
    target: int

    def __call__(self, files: "Sequence[Path]", fresh: "Path") -> None:
        count = files_needed([each.stat().st_size for each in files], self.target)
        frame = self.session.read.parquet(*map(str, files))
        parts = frame.coalesce(1) if count == 1 else frame.repartitionByRange(count, *ORDER)
        parts.sortWithinPartitions(*ORDER).write.parquet(str(fresh))


def compact(
    session: "SparkSession", layout: Layout, *, now: "datetime | None" = None, target: int = TARGET_BYTES
) -> list[Compacted]:
    """Write the small files of all days that are over anew; the caller holds the archive's lock.

    Args:
        session: Spark.
        layout: the archive.
        now: the time.
        target: bytes of a large file, about.
    """
    return compact_days(layout.days(), _Rewriting(session, target), now=now, target=target)
