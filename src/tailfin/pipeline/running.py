"""A pipeline file, run to its end or until it is asked to stop."""

import threading
import time
from typing import TYPE_CHECKING

from tailfin.pipeline import plan
from tailfin.pipeline.building import build
from tailfin.pipeline.model import Pipeline, Sink
from tailfin.pipeline.problems import PipelineError, Problem
from tailfin.pipeline.progress import Done, Progress
from tailfin.pipeline.sentences import sentence, spark_errors
from tailfin.pipeline.watching import PipelineFailed, Show, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def run(session: "SparkSession", pipeline: Pipeline, stop: threading.Event, show: Show) -> list[Done]:
    """Run a pipeline.

    Args:
        session: Spark.
        pipeline: the pipeline.
        stop: when it is set, streams end after the batch that is under way.
        show: is told of every batch.

    Returns:
        What each sink got.

    Raises:
        PipelineError: Spark cannot make sense of the pipeline.
        PipelineFailed: it ended before its time.
    """
    build(session, pipeline, streaming=pipeline.trigger.streaming)
    if not pipeline.trigger.streaming:
        return [_write(session, pipeline, sink, show) for sink in pipeline.sinks]
    queries: dict[str, StreamingQuery] = {}
    try:
        for sink in pipeline.sinks:
            queries[sink.name] = _start(session, pipeline, sink)
    except PipelineError:
        for query in queries.values():
            query.stop()
        raise
    return watch(queries, stop, show)


def _write(session: "SparkSession", pipeline: Pipeline, sink: Sink, show: Show) -> Done:
    """Write one sink of a batch."""
    from pyspark.sql import Observation, functions

    writing = plan.writing(sink, pipeline)
    seen = Observation()
    frame = session.table(writing.reads).observe(seen, functions.count(functions.lit(1)).alias("rows"))
    began = time.monotonic()
    try:
        writer = frame.write.format(writing.format).options(**writing.options).mode(writing.mode)
        if writing.partition_by:
            writer = writer.partitionBy(*writing.partition_by)
        writer.save()
    except spark_errors() as error:
        raise PipelineFailed(f"{sink.name}: {_told(writing, error)}") from None
    done = Progress(sink.name, 0, seen.get["rows"], None, time.monotonic() - began)
    show(done)
    return Done(sink.name).after(done)


def _start(session: "SparkSession", pipeline: Pipeline, sink: Sink) -> "StreamingQuery":
    """Start the stream of one sink."""
    writing = plan.writing(sink, pipeline)
    try:
        frame = session.table(writing.reads)
        writer = frame.writeStream.format(writing.format).options(**writing.options).outputMode(writing.mode)
        writer = writer.queryName(f"{pipeline.name}/{sink.name}")
        if writing.checkpoint is not None:
            writer = writer.option("checkpointLocation", writing.checkpoint)
        if writing.partition_by:
            writer = writer.partitionBy(*writing.partition_by)
        return triggered(writer, pipeline.trigger.every_s).start()
    except spark_errors() as error:
        raise PipelineError([Problem(sink.place, f"sink {sink.name!r}: {_told(writing, error)}")]) from None


def _told(writing: plan.Writing, error: Exception) -> str:
    """Return what is wrong with a sink, in a sentence."""
    if writing.format == "delta" and "DATA_SOURCE_NOT_FOUND" in str(error):
        return (
            "Spark has no Delta: pip install delta-spark, and set spark.jars.packages, spark.sql.extensions "
            "and spark.sql.catalog.spark_catalog under `spark:` as its guide says; or write `parquet:`"
        )
    return sentence(error)


def triggered(writer: "DataStreamWriter", every_s: float | None) -> "DataStreamWriter":
    """Have a stream begin a batch so often; None: read what there is, and end."""
    if every_s is None:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds")
