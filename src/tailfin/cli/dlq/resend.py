"""Have a group consume a dead letter again, or all of them.

Copies go to the group's retry topic: no other group gets them. The dead letters stay until they expire, so
give --from the time of the last resend.

Examples:
  tailfin dlq resend billing 7F0000010001000000000000000000A1
  tailfin dlq resend billing --all --from 2h
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output, words


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?")
    which.add_argument("--all", action="store_true", help="all dead letters")
    parser.add_argument(
        "--from", dest="start", type=words.place, default="first", metavar="TIME", help="died at or after"
    )
    parser.add_argument(
        "--to", dest="end", type=words.place, default="last", metavar="TIME", help="died before"
    )
    parser.add_argument("--limit", type=words.positive, metavar="N", help="at most so many")


def run(args: argparse.Namespace) -> int:
    """Send the dead letters again."""
    return common.run(args, _resend)


async def _resend(admin: AdminClient, args: argparse.Namespace) -> None:
    if args.all:
        sent = await admin.dead_letters.resend_all(
            args.group, start=args.start, end=args.end, limit=args.limit
        )
    else:
        await admin.dead_letters.resend(args.group, args.id)
        sent = 1
    if args.json:
        output.show_json({"group": args.group, "sent": sent})
    else:
        print(f"{sent} dead letters sent again to group {args.group}")
