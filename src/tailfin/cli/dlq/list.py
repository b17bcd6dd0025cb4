"""List the groups that have dead letters, or the dead letters of one group.

A dead letter is a message that a group could not consume, however often it tried.

Examples:
  tailfin dlq list
  tailfin dlq list billing --from 1d
  tailfin dlq list billing --limit 10 --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output, words
from tailfin.cli.message import printing


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP", nargs="?")
    parser.add_argument(
        "--from", dest="start", type=words.place, default="first", metavar="TIME", help="died at or after"
    )
    parser.add_argument(
        "--to", dest="end", type=words.place, default="last", metavar="TIME", help="died before"
    )
    parser.add_argument("--limit", type=words.positive, metavar="N", help="at most so many")


def run(args: argparse.Namespace) -> int:
    """Print groups or dead letters."""
    return common.run(args, _list)


async def _list(admin: AdminClient, args: argparse.Namespace) -> None:
    if args.group:
        found = await admin.dead_letters.list(args.group, start=args.start, end=args.end, limit=args.limit)
        for message in found:
            printing.show_line(args, message)
        return
    groups = await admin.dead_letters.groups()
    output.show_json(groups) if args.json else output.show_table(("group", "dead letters"), groups.items())
