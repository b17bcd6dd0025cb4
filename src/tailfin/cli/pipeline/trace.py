"""Show how long messages take and which ways they go, from the trace that clients write.

Clients write it when they are told to (`trace=True` of Tailfin's). Times are in milliseconds: SEND is how
long a send took, DELAY the time from the send to the first delivery, HANDLER how long a handler took.

Examples:
  tailfin pipeline trace
  tailfin pipeline trace --from 1h --json
  tailfin pipeline trace --message 7F0000010001000000000000000000A1
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.cli import admin, output, words
from tailfin.cli.pipeline import common
from tailfin.cli.store.common import iso
from tailfin.pipeline import plan
from tailfin.pipeline.trace import TOPIC, Percentiles, Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    admin.arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument("--topic", default=TOPIC, metavar="TOPIC", help=f"the topic of the trace ({TOPIC})")
    parser.add_argument("--from", dest="start", type=words.place, metavar="TIME", help="traced at or after")
    parser.add_argument("--to", dest="end", type=words.place, metavar="TIME", help="traced before")
    parser.add_argument("--message", metavar="ID", help="all that happened to one message")


def run(args: argparse.Namespace) -> int:
    """Print latencies and paths."""
    return common.with_spark(args, "tailfin trace", lambda session: _trace(session, args))


def _trace(session: "SparkSession", args: argparse.Namespace) -> int:
    options = {**common.source_options(args), **common.edges(args), "topic": args.topic}
    trace = Trace(session, session.read.format(plan.ROCKETMQ).options(**options).load())
    try:
        return _message(trace, args) if args.message else _summary(trace, args)
    finally:
        trace.close()


def _message(trace: Trace, args: argparse.Namespace) -> int:
    events = trace.events(args.message)
    if args.json:
        output.show_json(events)
    elif events:
        output.show_table(
            ("time", "what", "group", "details", "ms", "ok", "outcome"),
            [(iso(e.at), e.what, e.who, e.details, e.cost_ms, e.ok, e.outcome) for e in events],
        )
    else:
        print(f"no trace of message {args.message}")
    return 0 if events else 1


def _summary(trace: Trace, args: argparse.Namespace) -> int:
    sends, paths = trace.sends(), trace.paths()
    if args.json:
        output.show_json({"sends": sends, "paths": paths})
        return 0
    if not sends and not paths:
        print(f"topic {args.topic} holds no trace")
        return 0
    output.show_table(
        ("topic", "producer", "messages", "failed", *_headers("send")),
        [(each.topic, each.producer, each.messages, each.failed, *_cells(each.cost)) for each in sends],
    )
    print()
    output.show_table(
        ("path", "messages", "failed", "retried", *_headers("delay"), *_headers("handler")),
        [
            (
                f"{each.producer or '?'} > {each.topic or '?'} > {each.consumer}",
                each.messages,
                each.failed,
                each.retried,
                *_cells(each.delay),
                *_cells(each.cost),
            )
            for each in paths
        ],
    )
    return 0


def _headers(what: str) -> tuple[str, ...]:
    return (f"{what} p50", "p90", "p99", "max")


def _cells(values: Percentiles) -> tuple[int | None, ...]:
    return values.p50, values.p90, values.p99, values.max
