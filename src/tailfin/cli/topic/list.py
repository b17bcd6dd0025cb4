"""List topics.

Examples:
  tailfin topic list
  tailfin topic list --all -n "10.0.0.1:9876;10.0.0.2:9876"
  tailfin topic list --cluster DefaultCluster --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("-c", "--cluster", metavar="NAME", help="only topics of this cluster")
    parser.add_argument("-a", "--all", action="store_true", help="with RocketMQ's own and those of groups")


def run(args: argparse.Namespace) -> int:
    """Print the topics' names."""
    return common.run(args, _list)


async def _list(admin: AdminClient, args: argparse.Namespace) -> None:
    names = await admin.topics.list(cluster=args.cluster, everything=args.all)
    if args.json:
        output.show_json(names)
    else:
        print(*names, sep="\n", end="\n" if names else "")
