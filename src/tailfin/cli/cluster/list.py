"""List clusters with their brokers and how these fare.

Examples:
  tailfin cluster list
  tailfin cluster list --cluster DefaultCluster --json
"""

import argparse

from tailfin.admin import BrokerFigures, BrokerMember
from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output

HEADERS = (
    "cluster",
    "broker",
    "id",
    "address",
    "version",
    "active",
    "in a second",
    "out a second",
    "in today",
    "out today",
    "disk",
)
UNKNOWN = BrokerFigures(*[None] * 9)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("-c", "--cluster", metavar="NAME", help="only this cluster")


def run(args: argparse.Namespace) -> int:
    """Print the brokers."""
    return common.run(args, _list)


async def _list(admin: AdminClient, args: argparse.Namespace) -> None:
    members = await admin.cluster.brokers(cluster=args.cluster)
    if args.json:
        output.show_json(members)
        return
    output.show_table(HEADERS, map(_row, members))
    for member in members:
        if member.trouble:
            print(f"\n{member.name} at {member.address} does not tell how it fares: {member.trouble}")


def _row(member: BrokerMember) -> tuple[object, ...]:
    told = member.figures or UNKNOWN
    return (
        member.cluster,
        member.name,
        member.broker_id,
        member.address,
        told.version or "-",
        told.active,
        told.put_tps,
        told.get_tps,
        told.put_today,
        told.get_today,
        None if told.disk_ratio is None else f"{told.disk_ratio:.0%}",
    )
