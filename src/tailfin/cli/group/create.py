"""Create a consumer group, on all masters unless told otherwise.

A group that is there already gets these settings; `group update` changes only what is given.

Examples:
  tailfin group create billing
  tailfin group create billing --attempts 5 --orderly
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output
from tailfin.cli.group import settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    common.where(parser)
    parser.add_argument("group", metavar="GROUP")
    settings.arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Create the group."""
    return common.run(args, _create)


async def _create(admin: AdminClient, args: argparse.Namespace) -> None:
    brokers = await admin.groups.create(
        args.group, cluster=args.cluster, broker=args.broker, **settings.given(args)
    )
    if args.json:
        output.show_json({"group": args.group, "brokers": brokers})
    else:
        print(f"group {args.group} is on {', '.join(brokers)}")
