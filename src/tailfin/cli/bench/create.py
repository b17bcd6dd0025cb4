"""Create topics, and tell how many a second.

They are called TOPIC-00000, TOPIC-00001 and so on; creating one that exists sets its number of queues.

Example:
  tailfin bench create -b localhost:10911 --topic Many --topics 1000 --queues 8
"""

import argparse
from dataclasses import replace

from tailfin.cli.bench import common

TOPICS_MIN = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser, connections=4, in_flight=4)
    parser.add_argument("--topics", type=common.positive, default=1000, metavar="N", help="(default 1000)")


def run(args: argparse.Namespace) -> int:
    """Create, and print the figures."""
    topics = max(args.topics, TOPICS_MIN)
    wanted = replace(common.options(args, "create"), topics=topics, count=topics, duration=None, warm_up=0.0)
    figures, code = common.run(wanted, args)
    lines = [
        f"create {topics:,} topics of {wanted.queues} queues on {wanted.address}",
        f"  {figures['messages_per_second']:,.0f} topics/s",
        common.latency_line(figures, "acknowledged after"),
    ]
    common.show(wanted, figures, args, lines)
    return code
