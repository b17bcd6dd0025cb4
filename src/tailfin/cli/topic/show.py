"""Show where a topic is and how full its queues are.

Examples:
  tailfin topic show orders
  tailfin topic show orders --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output
from tailfin.cli.store.common import iso


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")


def run(args: argparse.Namespace) -> int:
    """Print a topic's route, queues and groups."""
    return common.run(args, _show)


async def _show(admin: AdminClient, args: argparse.Namespace) -> None:
    places = await admin.topics.route(args.topic)
    status = await admin.topics.status(args.topic)
    groups = await admin.topics.groups(args.topic)
    if args.json:
        output.show_json({"topic": args.topic, "places": places, "status": status, "groups": groups})
        return
    output.show_pairs(
        {
            "topic": args.topic,
            "messages": status.messages,
            "stored a second": status.put_tps,
            "groups": ", ".join(groups) or None,
        }
    )
    print()
    output.show_table(
        ("broker", "cluster", "address", "read queues", "write queues", "perm"),
        [
            (
                each.broker,
                each.cluster,
                ", ".join(each.addresses.values()),
                each.read_queues,
                each.write_queues,
                output.permission(each.perm),
            )
            for each in places
        ],
    )
    print()
    output.show_table(
        ("broker", "queue", "first", "end", "messages", "last stored"),
        [
            (
                each.queue.broker,
                each.queue.queue_id,
                each.min_offset,
                each.max_offset,
                each.max_offset - each.min_offset,
                iso(each.last_store_timestamp),
            )
            for each in status.queues
        ],
    )
