"""Print the messages of a store directory, in the order they were stored.

With --json each message is one line of JSON, its body in `body` when it is UTF-8 text and in `body_base64`
otherwise. Damaged places are told on standard error and passed over; the exit code is then 1.

Examples:
  tailfin store dump data --topic Orders --limit 10
  tailfin store dump data --key order-42 --json
  tailfin store dump data --topic Orders --queue 3 --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z
"""

import argparse
import base64
import json
import sys
from collections.abc import Callable, Iterator

from tailfin.cli.store import common
from tailfin.store import Message, OfflineLog

TEXT_BODY_MAX = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("--topic", help="only this topic")
    parser.add_argument("--queue", type=int, metavar="N", help="only this queue id")
    parser.add_argument("--key", help="only messages with this key, or with this unique key")
    parser.add_argument("--tag", help="only messages with this tag")
    parser.add_argument("--from", dest="since", type=common.moment, metavar="TIME", help="stored at or after")
    parser.add_argument("--to", dest="until", type=common.moment, metavar="TIME", help="stored at or before")
    parser.add_argument(
        "--offset", type=common.offset, metavar="N", help="begin at the record at this physical offset"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="stop after so many messages")


def run(args: argparse.Namespace) -> int:
    """Print the messages that are asked for."""
    log = OfflineLog(str(common.files(args).log))
    write = as_json if args.json else as_text
    damaged = False

    def on_damage(offset: int, what: str) -> None:
        nonlocal damaged
        damaged = True
        print(f"tailfin: offset {offset}: {what}; passed over", file=sys.stderr)

    left = args.limit
    if left is not None and left <= 0:
        return 0
    for message in walk(log, args.offset, on_damage):
        if not wanted(message, args):
            continue
        print(write(message))
        if left is not None:
            left -= 1
            if left == 0:
                break
    return 1 if damaged else 0


def walk(log: OfflineLog, offset: int | None, on_damage: Callable[[int, str], None]) -> Iterator[Message]:
    """Yield every intact record from an offset on."""
    at = log.min_offset if offset is None else offset
    while True:
        messages, at, damage = log.scan(at, 512)
        yield from messages
        if damage is not None:
            on_damage(at, damage)
            after = log.next_record(at)
            if after is None:
                return
            at = after
        elif not messages:
            return


def wanted(message: Message, args: argparse.Namespace) -> bool:
    """Tell whether the filters let a message through; the cheap ones come first."""
    if args.topic is not None and message.topic != args.topic:
        return False
    if args.queue is not None and message.queue_id != args.queue:
        return False
    if args.since is not None and message.store_timestamp < args.since:
        return False
    if args.until is not None and message.store_timestamp > args.until:
        return False
    if args.tag is not None and message.tags != args.tag:
        return False
    return args.key is None or args.key == message.unique_key or args.key in (message.keys or "").split(" ")


def as_text(message: Message) -> str:
    """Write a message on one line, its body shortened."""
    marks = [f"tags={message.tags}"] if message.tags else []
    marks += [f"keys={message.keys}"] if message.keys else []
    where = f"{message.topic}/{message.queue_id}/{message.queue_offset}"
    stored = common.iso(message.store_timestamp)
    return " ".join([str(message.physical_offset), where, stored, *marks, body_text(message.body)])


def body_text(body: bytes) -> str:
    """Write a body on one line, shortened."""
    shown = body[:TEXT_BODY_MAX].decode("utf-8", "backslashreplace")
    text = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)
    return f"{text} ... ({len(body)} bytes)" if len(body) > TEXT_BODY_MAX else text


def body_field(body: bytes) -> dict[str, object]:
    """Return a body as JSON has it: text if it is UTF-8, else Base64."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def as_json(message: Message) -> str:
    """Write a message as one line of JSON."""
    fields: dict[str, object] = {
        "topic": message.topic,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "physical_offset": message.physical_offset,
        "size": message.size,
        "message_id": message.message_id,
        "store_timestamp": message.store_timestamp,
        "store_host": message.store_host,
        "born_timestamp": message.born_timestamp,
        "born_host": message.born_host,
        "flag": message.flag,
        "sys_flag": message.sys_flag,
        "reconsume_times": message.reconsume_times,
        "prepared_offset": message.prepared_offset,
        "properties": message.properties,
        **body_field(message.body),
    }
    return json.dumps(fields, ensure_ascii=False)
