"""Show a consumer group: its settings, its members, what they read.

Examples:
  tailfin group show billing
  tailfin group show billing --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")


def run(args: argparse.Namespace) -> int:
    """Print the group."""
    return common.run(args, _show)


async def _show(admin: AdminClient, args: argparse.Namespace) -> None:
    settings = await admin.groups.config(args.group)
    members = await admin.connections.consumers(args.group)
    progress = await admin.offsets.progress(args.group)
    if args.json:
        output.show_json({"settings": settings, "members": members, "progress": progress})
        return
    output.show_pairs(
        {
            "group": args.group,
            "model": members.message_model,
            "type": members.consume_type,
            "lag": progress.lag,
            "read a second": progress.consume_tps,
        }
    )
    print()
    output.show_table(
        ("broker", "may consume", "orderly", "attempts", "retry queues"),
        [
            (
                broker,
                each.consume_enable,
                each.consume_message_orderly,
                each.retry_max_times,
                each.retry_queue_nums,
            )
            for broker, each in settings.items()
        ],
    )
    if not members.online:
        print("\nno member is connected")
        return
    print()
    output.show_table(
        ("client", "address", "language", "version"),
        [(each.client_id, each.address, each.language, each.version) for each in members.clients],
    )
    print()
    output.show_table(
        ("topic", "expression", "kind"),
        [(each.topic, each.expression, each.kind) for each in members.subscriptions],
    )
