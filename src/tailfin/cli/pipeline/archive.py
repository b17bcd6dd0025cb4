"""Keep topics as Parquet files, by topic and day; each message once.

Without --every what is there is archived, and the command ends; started again, it goes on where it ended,
also after a kill. The files of a day that is over (UTC) are written anew as few large ones. Readers take
PATH as a table with the columns of the Spark source, and never see a message twice.

Examples:
  tailfin pipeline archive orders payments --to /data/archive
  tailfin pipeline archive --pattern "orders-.*" --to /data/archive --every 1m
  tailfin pipeline archive orders --to /data/archive --from 7d --json
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.cli import admin, output, words
from tailfin.cli.pipeline import common
from tailfin.config.setting import ConfigError
from tailfin.pipeline.archive.archiving import Archived, Archiving
from tailfin.pipeline.archive.layout import Layout
from tailfin.pipeline.stopping import asked_to_stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    admin.arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument("topics", metavar="TOPIC", nargs="*")
    parser.add_argument("--pattern", metavar="REGEX", help="all topics with such a name, also later ones")
    parser.add_argument("--to", dest="path", required=True, metavar="PATH", help="the archive's folder")
    parser.add_argument(
        "--from",
        dest="start",
        type=words.place,
        default="first",
        metavar="TIME",
        help="where a new archive begins (first)",
    )
    parser.add_argument(
        "--every", type=words.seconds, metavar="S", help="go on, with a batch so often, until Ctrl-C"
    )
    parser.add_argument(
        "--batch", type=words.positive, metavar="N", help="at most so many messages in a batch"
    )
    parser.add_argument("--no-compact", action="store_true", help="leave small files as they are")


def run(args: argparse.Namespace) -> int:
    """Archive the topics."""
    if bool(args.topics) == bool(args.pattern):
        raise ConfigError("name the topics to archive, or give --pattern")
    layout = Layout.at(args.path)
    return common.with_spark(args, "tailfin archive", lambda session: _archive(session, layout, args))


def _archive(session: "SparkSession", layout: Layout, args: argparse.Namespace) -> int:
    args.end = None
    options = {**common.source_options(args), **common.edges(args)}
    options |= {"topicPattern": args.pattern} if args.pattern else {"topic": ",".join(args.topics)}
    if args.batch:
        options["maxOffsetsPerTrigger"] = str(args.batch)
    archiving = Archiving(session, layout, options, every_s=args.every, compacting=not args.no_compact)
    line = common.ProgressLine()
    with asked_to_stop() as stop:
        try:
            done = archiving.run(stop, line.batch)
        finally:
            line.clear()
    if args.json:
        output.show_json({"path": str(layout.root), **_facts(done)})
    else:
        print(f"{done.messages:,} messages in {_counted(done.batches, 'batch', 'batches')} to {layout.root}")
        for each in done.compacted:
            print(f"{each.folder}: {each.files_before} files became {each.files_after}")
    return 0


def _facts(done: Archived) -> dict[str, object]:
    return {"messages": done.messages, "batches": done.batches, "compacted": done.compacted}


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
