"""Change settings of brokers while they run; of all masters unless told otherwise.

Examples:
  tailfin cluster update fileReservedTime=48
  tailfin cluster update --broker broker-a traceOn=false autoCreateTopicEnable=false
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output, words


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    common.where(parser)
    parser.add_argument("settings", metavar="KEY=VALUE", nargs="+", type=words.pair)


def run(args: argparse.Namespace) -> int:
    """Change the settings."""
    return common.run(args, _update)


async def _update(admin: AdminClient, args: argparse.Namespace) -> None:
    brokers = await admin.cluster.update_config(dict(args.settings), cluster=args.cluster, broker=args.broker)
    if args.json:
        output.show_json({"brokers": brokers})
    else:
        print(f"settings are changed on {', '.join(brokers)}")
