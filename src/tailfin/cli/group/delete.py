"""Delete a consumer group, with its offsets, retry topic and dead letters.

Examples:
  tailfin group delete billing
  tailfin group delete billing --keep-offsets --keep-topics
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("-c", "--cluster", metavar="NAME", help="only there (default: everywhere)")
    parser.add_argument(
        "--keep-offsets", action="store_true", help="a group of this name goes on there later"
    )
    parser.add_argument("--keep-topics", action="store_true", help="keep its retry topic and dead letters")


def run(args: argparse.Namespace) -> int:
    """Delete the group."""
    return common.run(args, _delete)


async def _delete(admin: AdminClient, args: argparse.Namespace) -> None:
    brokers = await admin.groups.delete(
        args.group, cluster=args.cluster, keep_offsets=args.keep_offsets, keep_topics=args.keep_topics
    )
    if args.json:
        output.show_json({"group": args.group, "brokers": brokers})
    else:
        print(f"group {args.group} is deleted on {', '.join(brokers)}")
