"""Check a pipeline's file: every mistake is told at once, with its line and column.

Without --spark nothing is started: names, types, references between parts, options, and what is plainly no
SQL. With it, Spark reads the schemas of all sources and makes sense of every query, but reads no rows. The
exit code is 0 when all is well, and 1 when something is wrong.

Examples:
  tailfin pipeline check orders.yaml
  tailfin pipeline check orders.yaml --spark
  tailfin pipeline check *.yaml --json
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.cli import output
from tailfin.cli.pipeline import common
from tailfin.pipeline.building import build
from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.problems import PipelineError, Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.file_arguments(parser, several=True)
    parser.add_argument("--spark", action="store_true", help="have Spark look at it, too")
    common.spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Check the files."""
    problems: list[Problem] = []
    sound: list[Pipeline] = []
    for file in args.file:
        try:
            sound.append(common.load(args, file))
        except PipelineError as error:
            problems += error.problems

    def with_spark(session: "SparkSession") -> int:
        for pipeline in sound:
            try:
                build(session, pipeline, streaming=pipeline.trigger.streaming)
            except PipelineError as error:
                problems.extend(error.problems)
        return 0

    if args.spark and sound and (code := common.with_spark(args, "tailfin pipeline check", with_spark)):
        return code
    if args.json:
        output.show_json(problems)
    elif problems:
        print(*problems, sep="\n")
    else:
        print(*(f"{file}: {_summary(each)}" for file, each in zip(args.file, sound, strict=True)), sep="\n")
    return 1 if problems else 0


def _summary(pipeline: Pipeline) -> str:
    kind = "a stream" if pipeline.trigger.streaming else "a batch"
    parts = (
        (len(pipeline.sources), "source"),
        (len(pipeline.steps), "step"),
        (len(pipeline.sinks), "sink"),
    )
    return f"{kind}: " + ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in parts)
