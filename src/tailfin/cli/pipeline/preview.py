"""Show the first rows of a pipeline's steps; nothing is written.

Topics are read from the beginning, as a batch, also when the pipeline is a stream.

Examples:
  tailfin pipeline preview orders.yaml
  tailfin pipeline preview orders.yaml --step paid --rows 5
  tailfin pipeline preview orders.yaml --step paid --json
"""

import argparse
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from tailfin.cli import output, words
from tailfin.cli.pipeline import common
from tailfin.cli.store.dump import body_text
from tailfin.config.setting import ConfigError
from tailfin.pipeline.building import build
from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.problems import nearest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.file_arguments(parser)
    parser.add_argument("--step", metavar="NAME", help="a source or step (default: all that sinks write)")
    parser.add_argument(
        "--rows", type=words.positive, default=ROWS, metavar="N", help=f"at most so many ({ROWS})"
    )
    common.spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Print the rows."""
    pipeline = common.load(args, args.file)
    views = [*(each.name for each in pipeline.sources), *(each.name for each in pipeline.steps)]
    if args.step and args.step not in views:
        raise ConfigError(f"{args.file} has no source or step {args.step!r}{nearest(args.step, views)}")
    wanted = [args.step] if args.step else list(dict.fromkeys(each.reads for each in pipeline.sinks))
    return common.with_spark(
        args, pipeline.name, lambda session: _show(session, pipeline, wanted, args), dict(pipeline.spark)
    )


def _show(session: "SparkSession", pipeline: Pipeline, wanted: list[str], args: argparse.Namespace) -> int:
    build(session, pipeline, streaming=False)
    found = {name: session.table(name).limit(args.rows) for name in wanted}
    if args.json:
        rows = {
            name: [each.asDict(recursive=True) for each in frame.collect()] for name, frame in found.items()
        }
        output.show_json(_readable(rows))
        return 0
    for number, (name, frame) in enumerate(found.items()):
        print(f"{'' if number == 0 else chr(10)}{name}:")
        output.show_table(frame.columns, [[_readable(cell) for cell in row] for row in frame.collect()])
    return 0


def _readable(value: object) -> object:
    """Return a value as it is shown."""
    if isinstance(value, bytes | bytearray):
        return body_text(bytes(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _readable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(each) for each in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)
