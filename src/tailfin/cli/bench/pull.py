"""Read the queues of a topic over and over, as fast as the broker gives them.

Every connection keeps a number of pulls under way, each of a queue of its own as far as there are enough.
At the end of a queue the reader begins again at its first message, so fill the topic before: tailfin bench
send. A broker gives no more messages to one pull than its own settings allow (32 by default).

Examples:
  tailfin bench pull -n localhost:9876 --duration 10
  tailfin bench pull -b localhost:10911 --batch 512 --connections 2 --pid 4711 --json
"""

import argparse
from dataclasses import replace

from tailfin.cli.bench import common


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser, connections=8, in_flight=1)
    parser.add_argument(
        "--batch",
        type=common.positive,
        default=32,
        metavar="N",
        help="messages asked for by one pull (default 32)",
    )


def run(args: argparse.Namespace) -> int:
    """Pull, and print the figures."""
    wanted = replace(common.options(args, "pull"), pull_batch=args.batch)
    wanted = common.with_topic(wanted, args, create=False)
    figures, code = common.run(wanted, args)
    each = figures["messages"] / figures["requests"] if figures["requests"] else 0
    lines = [
        f"pull of {wanted.topic} on {wanted.address}: {wanted.connections} x {wanted.in_flight} under way, "
        f"{wanted.pull_batch} messages a pull wanted, {each:.1f} given",
        common.rate_line(figures),
        common.latency_line(figures, "answered after"),
    ]
    common.show(wanted, figures, args, lines)
    return code
