"""Show all about a message, and which groups consumed it.

ID is the one its producer got, or the broker's.

Examples:
  tailfin message show orders 7F0000010001000000000000000000A1
  tailfin message show orders --at broker-a/0/42
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import words
from tailfin.cli.message import printing
from tailfin.client.queues import Queue


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?")
    which.add_argument("--at", type=_place, metavar="BROKER/N/OFFSET", help="the message at this offset")


def _place(text: str) -> tuple[str, int, int]:
    queue, slash, offset = text.rpartition("/")
    if not slash or not offset.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no place: use BROKER/QUEUE/OFFSET, as broker-a/0/42")
    return *words.queue(queue), int(offset)


def run(args: argparse.Namespace) -> int:
    """Print the message."""
    return common.run(args, _show)


async def _show(admin: AdminClient, args: argparse.Namespace) -> None:
    if args.id:
        message = await admin.messages.find(args.topic, args.id)
    else:
        broker, queue_id, offset = args.at
        message = await admin.messages.by_offset(Queue(args.topic, broker, queue_id), offset)
    await printing.show_whole(admin, args, message)
