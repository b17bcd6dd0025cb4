"""Send at a rate and wait for every message at the other end: the time from sender to receiver.

The sender does not wait for anything: a message is due at its own time, and its latency counts from then
until a long-polling reader in this process has it. At the end all messages that were acknowledged are waited
for; the exit code is 1 when some did not arrive.

Examples:
  tailfin bench e2e -n localhost:9876 --create --rate 1000
  tailfin bench e2e -b localhost:10911 --rate 10000 --duration 30 --warm-up 10 --json
"""

import argparse
from dataclasses import replace

from tailfin.cli.bench import common


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser, connections=1, in_flight=1024)
    common.messages(parser)
    parser.add_argument(
        "--rate",
        type=common.per_second,
        default=1000.0,
        metavar="N",
        help="messages per second (default 1000)",
    )


def run(args: argparse.Namespace) -> int:
    """Send and receive, and print the figures."""
    wanted = replace(common.options(args, "e2e"), body_bytes=args.size, rate=args.rate)
    wanted = common.with_topic(wanted, args, create=args.create)
    figures, code = common.run(wanted, args)
    lines = [
        f"end to end through {wanted.topic} on {wanted.address}: {wanted.rate:,.0f} messages/s wanted, "
        f"{wanted.body_bytes} B",
        common.rate_line(figures),
        common.latency_line(figures, "acknowledged after"),
        common.latency_line(figures["received"], "received after"),
    ]
    if figures["missing"]:
        lines.append(f"  {figures['missing']:,} acknowledged messages did not arrive")
    if figures["duplicates"]:
        lines.append(f"  {figures['duplicates']:,} messages arrived that were not acknowledged, or twice")
    common.show(wanted, figures, args, lines)
    return code
