"""Send archived messages to their topics again, or to another one.

PATH is an archive of `tailfin pipeline archive`, or any Parquet files with the columns of the Spark source.
Messages of one queue go to one queue, in their order: to the queue of the same broker and number where the
topic has it. Copies have the properties, tags, keys and flag of the first messages, an id of their own, and
the first id in the property REPLAYED_MSG_ID. TIME is a time as 2026-01-31T12:00:00Z or in milliseconds since
the epoch, or how long ago, as 30m or 2h. A run that was stopped tells how to go on.

Examples:
  tailfin pipeline replay /data/archive --topic orders --to orders-again
  tailfin pipeline replay /data/archive --topic orders --from 2h --rate 500
  tailfin pipeline replay /data/archive --to test --from 2026-01-31T00:00:00Z --until 2026-02-01T00:00:00Z
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.admin.blocking import AdminClient
from tailfin.cli import admin, output, words
from tailfin.cli.pipeline import common
from tailfin.cli.store.common import Meter
from tailfin.client.blocking.producer import Producer
from tailfin.config.setting import ConfigError
from tailfin.pipeline import replay
from tailfin.pipeline.stopping import asked_to_stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    admin.arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument("path", metavar="PATH", help="an archive, or other Parquet files")
    parser.add_argument(
        "-t",
        "--topic",
        dest="topics",
        action="append",
        default=[],
        metavar="TOPIC",
        help="only messages of this topic; may be repeated",
    )
    parser.add_argument("--to", metavar="TOPIC", help="the topic they go to (default: their own)")
    parser.add_argument("--from", dest="start", type=words.place, metavar="TIME", help="stored at or after")
    parser.add_argument("--until", type=words.place, metavar="TIME", help="stored before")
    parser.add_argument("--rate", type=words.positive, metavar="N", help="at most so many messages a second")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out so many, sent already")


def run(args: argparse.Namespace) -> int:
    """Send the messages."""
    for place in (args.start, args.until):
        if isinstance(place, str):
            raise ConfigError(f"{place!r} is a place in a queue: --from and --until take times")
    selection = replay.Selection(args.path, tuple(args.topics), args.start, args.until)
    return common.with_spark(args, "tailfin replay", lambda session: _replay(session, selection, args))


def _replay(session: "SparkSession", selection: replay.Selection, args: argparse.Namespace) -> int:
    if args.to:
        # A topic that brokers make by themselves would have other queues than the first one.
        with AdminClient(**admin.options(args)) as client:
            client.topics.route(args.to)
    frame = replay.select(session, selection)
    meter = Meter()
    with asked_to_stop() as stop, Producer(replay.GROUP, **admin.options(args)) as producer:
        done = replay.replay(
            frame,
            producer,
            to=args.to,
            rate=args.rate,
            skip=args.skip,
            stop=stop,
            show=lambda sent, total: meter("sent", sent, total),
        )
    meter.clear()
    if args.json:
        output.show_json(done)
    elif done.sent < done.total:
        print(f"{done.sent:,} of {done.total:,} messages sent; go on with --skip {done.sent}")
    else:
        print(f"{done.sent - args.skip:,} messages sent" + (f", {args.skip:,} skipped" if args.skip else ""))
    return 0
