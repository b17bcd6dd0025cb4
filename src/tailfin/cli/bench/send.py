"""Send messages to a broker as fast as it answers, or at a rate.

Each connection keeps a number of requests under way. Latency counts from the sending of a request; with
--rate from when it was due, so that a broker that stops for a while shows in all that should have been sent
then. With --consumable the run also tells when everything acknowledged could be read.

Exit code: 0; 1 when requests were refused; 2 when the run could not be carried out; 130 after Ctrl-C.

Examples:
  tailfin bench send -n localhost:9876 --create
  tailfin bench send -b localhost:10911 --size 1k --connections 8 --in-flight 32 --duration 30 --pid 4711
  tailfin bench send -b localhost:10911 --batch 32 --count 3_200_000 --consumable --json
  tailfin bench send -b localhost:10911 --topics 5000 --queues 8 --create
  tailfin bench send -b localhost:10911 --property DELAY=3 --count 100_000
"""

import argparse
from dataclasses import replace

from tailfin.cli.bench import common


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser, connections=8, in_flight=32)
    common.messages(parser)
    parser.add_argument("--batch", type=common.positive, default=1, metavar="N", help="messages in one send")
    parser.add_argument(
        "--property",
        type=common.pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property of each message, such as DELAY=3 or TIMER_DELAY_MS=5000",
    )
    parser.add_argument("--rate", type=common.per_second, metavar="N", help="messages per second")
    parser.add_argument(
        "--topics",
        type=common.positive,
        default=1,
        metavar="N",
        help="use so many: TOPIC-00000, TOPIC-00001, ...",
    )
    parser.add_argument("--consumable", action="store_true", help="wait until everything can be read")


def run(args: argparse.Namespace) -> int:
    """Send, and print the figures."""
    wanted = replace(
        common.options(args, "send"),
        body_bytes=args.size,
        batch=args.batch,
        properties=tuple(args.property),
        rate=args.rate,
        topics=args.topics,
        consumable=args.consumable,
    )
    wanted = common.with_topic(wanted, args, create=args.create)
    figures, code = common.run(wanted, args)
    lines = [
        f"send to {wanted.topic} on {wanted.address}: {wanted.connections} x {wanted.in_flight} under way, "
        f"{wanted.body_bytes} B" + (f", batches of {wanted.batch}" if wanted.batch > 1 else ""),
        common.rate_line(figures),
        common.latency_line(figures, "acknowledged after"),
    ]
    if "consumable_per_second" in figures:
        lines.append(f"  {figures['consumable_per_second']:,.0f} messages/s until all could be read")
    common.show(wanted, figures, args, lines)
    return code
