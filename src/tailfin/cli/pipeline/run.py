"""Run a pipeline that a file describes.

The file is checked first, without Spark; docs/pipelines/README.md says what may stand in it. A stream runs
until Ctrl-C, which lets the batch under way finish; started again it goes on where its checkpoint ends.

Examples:
  tailfin pipeline run orders.yaml
  tailfin pipeline run orders.yaml --master spark://10.0.0.1:7077 --conf spark.executor.memory=4g
  tailfin pipeline run orders.yaml -n 10.0.0.1:9876 --json
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.cli import output
from tailfin.cli.pipeline import common
from tailfin.pipeline import running
from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.stopping import asked_to_stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.file_arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Run the pipeline."""
    pipeline = common.load(args, args.file)
    return common.with_spark(
        args, pipeline.name, lambda session: _run(session, pipeline, args), dict(pipeline.spark)
    )


def _run(session: "SparkSession", pipeline: Pipeline, args: argparse.Namespace) -> int:
    line = common.ProgressLine()
    with asked_to_stop() as stop:
        try:
            done = running.run(session, pipeline, stop, line.batch)
        finally:
            line.clear()
    if args.json:
        output.show_json({"pipeline": pipeline.name, "stopped": stop.is_set(), "sinks": done})
    else:
        print(*(each.line for each in done), sep="\n")
    return 0
