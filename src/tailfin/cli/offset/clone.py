"""Give one group the offsets of another.

Examples:
  tailfin offset clone billing billing-new
  tailfin offset clone billing billing-new --topic orders
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli.offset import changes


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("source", metavar="SOURCE", help="the group to copy from")
    parser.add_argument("target", metavar="TARGET", help="the group to copy to; it exists, and has no member")
    parser.add_argument("-t", "--topic", help="only in this topic")


def run(args: argparse.Namespace) -> int:
    """Copy the offsets."""
    return common.run(args, _clone)


async def _clone(admin: AdminClient, args: argparse.Namespace) -> None:
    made = await admin.offsets.clone(args.source, args.target, args.topic)
    changes.show(args, made, done=True)
