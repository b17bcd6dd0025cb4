"""List consumer groups, their members and how far they lag behind.

Examples:
  tailfin group list
  tailfin group list --all --json
"""

import argparse
import asyncio

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    common.where(parser)
    parser.add_argument("-a", "--all", action="store_true", help="with RocketMQ's own")


def run(args: argparse.Namespace) -> int:
    """Print the groups."""
    return common.run(args, _list)


async def _list(admin: AdminClient, args: argparse.Namespace) -> None:
    names = await admin.groups.list(cluster=args.cluster, broker=args.broker, everything=args.all)
    members = await asyncio.gather(*(admin.connections.consumers(name) for name in names))
    progress = await asyncio.gather(*(admin.offsets.progress(name) for name in names))
    rows = [
        (each.group, len(each.clients), each.message_model, far.lag, far.consume_tps)
        for each, far in zip(members, progress, strict=True)
    ]
    headers = ("group", "members", "model", "lag", "read a second")
    if args.json:
        names_in_json = ("group", "members", "message_model", "lag", "consume_tps")
        output.show_json([dict(zip(names_in_json, row, strict=True)) for row in rows])
    else:
        output.show_table(headers, rows)
