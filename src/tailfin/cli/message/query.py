"""Find messages by key, oldest first; the newest 64 of each broker at most.

Examples:
  tailfin message query orders 42
  tailfin message query orders 42 --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import words
from tailfin.cli.message import printing
from tailfin.cli.store.common import moment


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("--from", dest="begin", type=moment, metavar="TIME", help="stored at or after")
    parser.add_argument("--to", dest="end", type=moment, metavar="TIME", help="stored at or before")
    parser.add_argument("--limit", type=words.positive, default=64, metavar="N", help="of each broker (64)")


def run(args: argparse.Namespace) -> int:
    """Print the messages."""
    return common.run(args, _query)


async def _query(admin: AdminClient, args: argparse.Namespace) -> None:
    found = await admin.messages.by_key(
        args.topic, args.key, begin=args.begin, end=args.end, limit=args.limit
    )
    for message in found:
        printing.show_line(args, message)
