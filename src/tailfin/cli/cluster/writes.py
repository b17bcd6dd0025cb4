"""Let producers send to a broker or not, so that it can be stopped without a lost send.

Name servers take the permission from the broker's topics; producers see it with their next look at the
routes, within half a minute. It holds until `on`, or until the broker registers its topics changed.

Examples:
  tailfin cluster writes broker-a off
  tailfin cluster writes broker-a on
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("broker", metavar="BROKER", help="its name")
    parser.add_argument("state", choices=("on", "off"))


def run(args: argparse.Namespace) -> int:
    """Give or take the permission."""
    return common.run(args, _writes)


async def _writes(admin: AdminClient, args: argparse.Namespace) -> None:
    cluster = admin.cluster
    change = cluster.add_write_permission if args.state == "on" else cluster.wipe_write_permission
    counts = await change(args.broker)
    if args.json:
        output.show_json(counts)
        return
    for address, count in counts.items():
        print(f"name server {address}: writes to {args.broker} are {args.state} for {count} topics")
