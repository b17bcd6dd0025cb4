"""Change some settings of a consumer group.

Examples:
  tailfin group update billing --attempts 3
  tailfin group update billing --no-consume
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
    """Change the group."""
    return common.run(args, _update)


async def _update(admin: AdminClient, args: argparse.Namespace) -> None:
    changed = await admin.groups.update(
        args.group, cluster=args.cluster, broker=args.broker, **settings.given(args)
    )
    if args.json:
        output.show_json(changed)
    else:
        print(f"group {args.group} is changed on {', '.join(changed)}")
