"""Show all about a dead letter.

Examples:
  tailfin dlq show billing 7F0000010001000000000000000000A1
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli.message import printing


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("id", metavar="ID")


def run(args: argparse.Namespace) -> int:
    """Print the dead letter."""
    return common.run(args, _show)


async def _show(admin: AdminClient, args: argparse.Namespace) -> None:
    await printing.show_whole(admin, args, await admin.dead_letters.show(args.group, args.id))
