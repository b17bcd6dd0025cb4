"""Messages as people and scripts read them."""

import argparse
import json
import sys

from tailfin.admin.client import AdminClient
from tailfin.cli import output
from tailfin.cli.store.common import iso
from tailfin.cli.store.dump import body_field, body_text
from tailfin.message import DamagedMessage, ReceivedMessage


def show_line(args: argparse.Namespace, message: ReceivedMessage) -> None:
    """Print a message on one line; one that is damaged is told of and passed over."""
    try:
        line = as_json(message) if args.json else as_text(message)
    except DamagedMessage as error:
        print(f"tailfin: {error}; passed over", file=sys.stderr)
    else:
        print(line, flush=True)


async def show_whole(admin: AdminClient, args: argparse.Namespace, message: ReceivedMessage) -> None:
    """Print all about a message, and who consumed it."""
    tracks = await admin.messages.track(message)
    if args.json:
        print(as_json(message, tracks={each.group: each.status for each in tracks}))
        return
    output.show_pairs(
        {
            "id": message.message_id,
            "broker's id": message.offset_message_id,
            "topic": message.stored_topic,
            "queue": f"{message.broker}/{message.queue_id} at {message.queue_offset}",
            "tags": message.tags,
            "keys": " ".join(message.keys) or None,
            "born": f"{iso(message.born_timestamp)} on {message.born_host}",
            "stored": f"{iso(message.store_timestamp)} on {message.store_host}",
            "attempts before": message.reconsume_times,
        }
    )
    print()
    output.show_pairs(message.properties)
    if tracks:
        print()
        output.show_table(("group", "status"), [(each.group, each.status) for each in tracks])
    print()
    print(message.body.decode("utf-8", "backslashreplace"))


def as_text(message: ReceivedMessage) -> str:
    """Write a message on one line, its body shortened."""
    where = f"{message.broker}/{message.queue_id}/{message.queue_offset}"
    marks = [f"tags={message.tags}"] if message.tags else []
    marks += [f"keys={' '.join(message.keys)}"] if message.keys else []
    return " ".join([iso(message.store_timestamp), where, *marks, body_text(message.body)])


def as_json(message: ReceivedMessage, **further: object) -> str:
    """Write a message as one line of JSON."""
    fields = {
        "topic": message.stored_topic,
        "broker": message.broker,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "message_id": message.message_id,
        "offset_message_id": message.offset_message_id,
        "tags": message.tags,
        "keys": message.keys,
        "store_timestamp": message.store_timestamp,
        "store_host": message.store_host,
        "born_timestamp": message.born_timestamp,
        "born_host": message.born_host,
        "flag": message.flag,
        "reconsume_times": message.reconsume_times,
        "properties": message.properties,
        **body_field(message.body),
        **further,
    }
    return json.dumps(fields, ensure_ascii=False)
