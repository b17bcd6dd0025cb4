"""Delete a topic with its messages.

Examples:
  tailfin topic delete orders
  tailfin topic delete orders --cluster DefaultCluster
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-c", "--cluster", metavar="NAME", help="only there (default: everywhere)")


def run(args: argparse.Namespace) -> int:
    """Delete the topic."""
    return common.run(args, _delete)


async def _delete(admin: AdminClient, args: argparse.Namespace) -> None:
    brokers = await admin.topics.delete(args.topic, cluster=args.cluster)
    if args.json:
        output.show_json({"topic": args.topic, "brokers": brokers})
    else:
        print(f"topic {args.topic} is deleted on {', '.join(brokers)}")
