"""Read a topic's messages in the order they were stored; nobody's offset moves.

TIME is first, last, a time as 2026-01-31T12:00:00Z or in milliseconds since the epoch, or how long ago,
as 30m or 2h. With --json each message is one line of JSON, its body in `body` when it is UTF-8 text and in
`body_base64` otherwise.

Examples:
  tailfin message read orders
  tailfin message read orders --from 1h --tags "paid || open" --limit 10
  tailfin message read orders --sql "amount > 100" --follow
  tailfin message read orders --queue broker-a/0 --from first --follow --json
"""

import argparse
from collections.abc import AsyncGenerator
from contextlib import aclosing

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import words
from tailfin.cli.message import printing
from tailfin.client.consuming.subscriptions import Sql
from tailfin.message import ReceivedMessage


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--from",
        dest="start",
        type=words.place,
        metavar="TIME",
        help="begin there (first; with --follow last)",
    )
    parser.add_argument(
        "--to", dest="end", type=words.place, default="last", metavar="TIME", help="end before (last)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tags", type=words.tags, default="*", metavar="TAGS", help='only these tags, as "a || b"'
    )
    which.add_argument("--sql", metavar="EXPRESSION", help="only what an SQL92 expression lets through")
    parser.add_argument("--limit", type=words.positive, metavar="N", help="stop after so many")
    parser.add_argument(
        "--queue",
        dest="queues",
        type=words.queue,
        action="append",
        default=[],
        metavar="BROKER/N",
        help="only this queue; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Print the messages."""
    return common.run(args, _read)


async def _read(admin: AdminClient, args: argparse.Namespace) -> None:
    left = args.limit
    async with aclosing(_messages(admin, args)) as found:
        async for message in found:
            printing.show_line(args, message)
            left = left and left - 1
            if left == 0:
                return


def _messages(admin: AdminClient, args: argparse.Namespace) -> AsyncGenerator[ReceivedMessage, None]:
    queues = words.queues(args.topic, args.queues)
    expression = Sql(args.sql) if args.sql else args.tags
    start = words.ENDS["last" if args.follow else "first"] if args.start is None else args.start
    if args.follow:
        return admin.messages.follow(args.topic, start=start, queues=queues, expression=expression)
    return admin.messages.read(args.topic, start=start, end=args.end, queues=queues, expression=expression)
