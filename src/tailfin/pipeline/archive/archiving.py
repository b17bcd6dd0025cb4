"""Topics written to an archive, each message once."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailfin.pipeline import plan
from tailfin.pipeline.archive.compacting import compact
from tailfin.pipeline.archive.layout import Layout
from tailfin.pipeline.archive.publishing import publish
from tailfin.pipeline.days import Compacted, last_day_over
from tailfin.pipeline.running import triggered
from tailfin.pipeline.watching import Show, watch
from tailfin.pipeline.writers import only_writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Archived:
    """What a run did."""

    messages: int
    batches: int
    compacted: tuple[Compacted, ...]


class Archiving:
    """A run of an archive.

    Args:
        session: Spark.
        layout: where to.
        options: of the source: the cluster, the topics, where to begin.
        every_s: seconds between the beginnings of batches; None: archive what there is, and end.
        compacting: whether small files of days that are over are written anew.
    """

    def __init__(
        self,
        session: "SparkSession",
        layout: Layout,
        options: Mapping[str, str],
        *,
        every_s: float | None = None,
        compacting: bool = True,
    ) -> None:
        self._session = session
        self._layout = layout
        self._options = options
        self._every_s = every_s
        self._compacting = compacting
        self._compacted: list[Compacted] = []
        self._over = last_day_over()

    def run(self, stop: threading.Event, show: Show) -> Archived:
        """Archive until all is there, or until asked to stop."""
        with only_writer(self._layout.root):
            self._layout.check()
            (done,) = watch({"archive": self._start()}, stop, show)
            if self._compacting:
                self._compacted += compact(self._session, self._layout)
        return Archived(done.rows, done.batches, tuple(self._compacted))

    def _start(self) -> "StreamingQuery":
        from pyspark.sql import functions

        options = {"startingOffsets": "earliest", **self._options, "includeProperties": "true"}
        if "startingTimestamp" in options:
            del options["startingOffsets"]
        stream = self._session.readStream.format(plan.ROCKETMQ).options(**options).load()
        dated = stream.withColumn("date", functions.to_date("storeTimestamp"))
        writer = dated.writeStream.queryName("archive").foreachBatch(self._publish)
        writer = writer.option("checkpointLocation", str(self._layout.checkpoint))
        return triggered(writer, self._every_s).start()

    def _publish(self, frame: "DataFrame", batch: int) -> None:
        publish(self._layout, frame, batch)
        if self._compacting and self._over != last_day_over():
            self._over = last_day_over()
            self._compacted += compact(self._session, self._layout)
