"""Send a group to the ends of a topic's queues: what it has not consumed, it never will.

Examples:
  tailfin offset skip billing orders --dry-run
  tailfin offset skip billing orders
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli.offset import changes


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, show what would change")


def run(args: argparse.Namespace) -> int:
    """Skip what is not consumed."""
    return common.run(args, _skip)


async def _skip(admin: AdminClient, args: argparse.Namespace) -> None:
    made = await admin.offsets.skip(args.group, args.topic, dry_run=args.dry_run)
    changes.show(args, made, done=not args.dry_run)
