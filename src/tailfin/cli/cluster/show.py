"""Show all that a broker tells of itself, by RocketMQ's names.

Examples:
  tailfin cluster show broker-a
  tailfin cluster show 10.0.0.7:10911 --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("broker", metavar="BROKER", help="its name or address")


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    return common.run(args, _show)


async def _show(admin: AdminClient, args: argparse.Namespace) -> None:
    figures = await admin.cluster.runtime(args.broker)
    output.show_json(figures) if args.json else output.show_pairs(figures)
