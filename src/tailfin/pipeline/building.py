"""A pipeline's plan, handed to Spark: views, and nothing read yet."""

from typing import TYPE_CHECKING

from tailfin.pipeline import plan
from tailfin.pipeline.model import Pipeline, Step
from tailfin.pipeline.problems import PipelineError, Place, Problem
from tailfin.pipeline.sentences import PLACE, sentence, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def build(session: "SparkSession", pipeline: Pipeline, *, streaming: bool) -> None:
    """Make a temporary view of each source and step.

    Args:
        session: Spark.
        pipeline: the pipeline.
        streaming: whether topics are read as streams.

    Raises:
        PipelineError: Spark cannot make sense of some of it; all such parts are told of.
    """
    problems: list[Problem] = []
    failed: set[str] = set()
    for source in pipeline.sources:
        try:
            frame = _read(session, plan.reading(source, pipeline.cluster, streaming=streaming))
            frame.createOrReplaceTempView(source.name)
        except spark_errors() as error:
            failed.add(source.name)
            problems.append(Problem(source.place, f"source {source.name!r}: {sentence(error)}"))
    for step in pipeline.steps:
        if step.reads & failed:  # what is wrong is told already
            failed.add(step.name)
            continue
        try:
            session.sql(step.sql.text).createOrReplaceTempView(step.name)
        except spark_errors() as error:
            failed.add(step.name)
            problems.append(Problem(_place(step, error), f"step {step.name!r}: {sentence(error)}"))
    if problems:
        raise PipelineError(problems)


def _read(session: "SparkSession", reading: plan.Reading) -> "DataFrame":
    reader = session.readStream if reading.streaming else session.read
    for name, value in reading.options.items():
        reader = reader.option(name, value)
    frame = reader.format(reading.format).load(list(reading.paths) or None)  # type: ignore[arg-type]
    if reading.watermark is not None:
        delay = f"{reading.watermark.delay_s:g} seconds"
        frame = frame.withWatermark(reading.watermark.column, delay)
    return frame


def _place(step: Step, error: Exception) -> Place:
    """Find where in the file the part of a query stands that Spark complains of."""
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.base import QueryContextType

    for context in error.getQueryContext() if isinstance(error, PySparkException) else ():
        if context.contextType() is QueryContextType.SQL:
            before = step.sql.text[: context.startIndex()].split("\n")
            return step.sql.place_of(len(before), len(before[-1]) + 1)
    found = PLACE.search(str(error))
    return step.sql.place_of(int(found[1]), int(found[2]) + 1) if found else step.sql.place
