"""Messages as people and scripts read them."""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import output
from tailfin.cli.store import dump
from tailfin.cli.store.common import iso
from tailfin.message import Message


def show_line(args: argparse.Namespace, message: Message) -> None:
    """Print a message on one line."""
    print(dump.as_json(message) if args.json else dump.as_text(message), flush=True)


async def show_whole(admin: AdminClient, args: argparse.Namespace, message: Message) -> None:
    """Print all about a message, and who consumed it."""
    if args.json:
        print(dump.as_json(message))
        return
    output.show_pairs(
        {
            "id": message.unique_key,
            "broker's id": message.message_id,
            "topic": message.topic,
            "queue": f"{message.queue_id} at {message.queue_offset}",
            "tags": message.tags,
            "keys": message.keys,
            "born": f"{iso(message.born_timestamp)} on {message.born_host}",
            "stored": f"{iso(message.store_timestamp)} on {message.store_host}",
            "attempts before": message.reconsume_times,
        }
    )
    print()
    output.show_pairs(message.properties)
    tracks = await admin.messages.track(message)
    if tracks:
        print()
        output.show_table(("group", "status"), [(each.group, each.status) for each in tracks])
    print()
    print(message.body.decode("utf-8", "backslashreplace"))
