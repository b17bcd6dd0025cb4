"""A batch of messages, moved to its days once and only once."""

import shutil
from typing import TYPE_CHECKING

from tailfin.pipeline.archive.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def publish(layout: Layout, frame: "DataFrame", batch: int) -> None:
    """Write a batch and move its files to their days.

    Spark gives a batch again, with the same messages, when it was killed before it noted that the batch is
    done. The order of the steps makes that harmless: files are complete before the first is moved, a moved
    file is not written again, and the batch is noted as published before its staging folder goes.

    Args:
        layout: the archive.
        frame: the batch, with the columns `topic` and `date`.
        batch: its number.
    """
    if batch <= layout.last_published():
        return
    staged = layout.staging / str(batch)
    if not (staged / "_SUCCESS").exists():
        shutil.rmtree(staged, ignore_errors=True)
        frame.write.partitionBy("topic", "date").parquet(str(staged))
    for file in sorted(staged.glob("topic=*/date=*/*.parquet")):
        day = layout.root / file.parent.relative_to(staged)
        day.mkdir(parents=True, exist_ok=True)
        file.rename(day / f"batch-{batch:08d}-{file.name}")
    layout.note_published(batch)
    shutil.rmtree(layout.staging, ignore_errors=True)
