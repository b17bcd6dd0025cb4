"""Create a topic, on all masters unless told otherwise.

A topic that is there already gets these settings; `topic update` changes only what is given.

Examples:
  tailfin topic create orders
  tailfin topic create orders --queues 16 --cluster DefaultCluster
  tailfin topic create ledger --queues 1 --attribute message.type=FIFO
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output, words

QUEUES = 8


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    common.where(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "-q", "--queues", type=words.positive, default=QUEUES, metavar="N", help=f"on each broker ({QUEUES})"
    )
    parser.add_argument("--perm", type=words.perm, default="rw", help="rw, r or w (rw)")
    parser.add_argument("--order", action="store_true", help="keep the order even when a broker is down")
    parser.add_argument(
        "--attribute",
        type=words.pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an attribute of 5.x brokers, as message.type=DELAY",
    )


def run(args: argparse.Namespace) -> int:
    """Create the topic."""
    return common.run(args, _create)


async def _create(admin: AdminClient, args: argparse.Namespace) -> None:
    brokers = await admin.topics.create(
        args.topic,
        queues=args.queues,
        perm=args.perm,
        order=args.order,
        attributes=dict(args.attribute),
        cluster=args.cluster,
        broker=args.broker,
    )
    if args.json:
        output.show_json({"topic": args.topic, "brokers": brokers})
    else:
        print(f"topic {args.topic} is on {', '.join(brokers)}, with {args.queues} queues on each")
