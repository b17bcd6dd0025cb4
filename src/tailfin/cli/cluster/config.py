"""Show the settings of a broker, or of the name servers.

Examples:
  tailfin cluster config broker-a
  tailfin cluster config broker-a fileReservedTime flushDiskType
  tailfin cluster config --nameservers
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.admin.errors import NotFound
from tailfin.cli import admin as common
from tailfin.cli import output
from tailfin.config.setting import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("broker", metavar="BROKER", nargs="?", help="its name or address")
    parser.add_argument("keys", metavar="KEY", nargs="*", help="only these settings")
    parser.add_argument("--nameservers", action="store_true", help="of the name servers instead")


def run(args: argparse.Namespace) -> int:
    """Print the settings."""
    return common.run(args, _config)


async def _config(admin: AdminClient, args: argparse.Namespace) -> None:
    if bool(args.broker) == args.nameservers:
        raise ConfigError("whose settings? Name a broker, or say --nameservers")
    if args.nameservers:
        found = await admin.cluster.nameserver_config()
        if args.json:
            output.show_json(found)
            return
        for address, settings in found.items():
            print(f"name server {address}")
            output.show_pairs(settings)
        return
    settings = await admin.cluster.config(args.broker)
    unknown = [key for key in args.keys if key not in settings]
    if unknown:
        raise NotFound(f"broker {args.broker} has no setting {', '.join(unknown)}")
    chosen = {key: settings[key] for key in args.keys} or settings
    output.show_json(chosen) if args.json else output.show_pairs(chosen)
