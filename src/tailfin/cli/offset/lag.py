"""Show how far a group is in each queue, and how many messages it lags behind.

Examples:
  tailfin offset lag billing
  tailfin offset lag billing --topic orders --owners
  tailfin offset lag billing --json
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output
from tailfin.cli.store.common import iso


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("-t", "--topic", help="only in this topic")
    parser.add_argument("--owners", action="store_true", help="ask the members who reads which queue")


def run(args: argparse.Namespace) -> int:
    """Print the progress."""
    return common.run(args, _lag)


async def _lag(admin: AdminClient, args: argparse.Namespace) -> None:
    found = await admin.offsets.progress(args.group, args.topic, owners=args.owners)
    if args.json:
        output.show_json(found)
        return
    headers: tuple[str, ...] = (
        "topic",
        "broker",
        "queue",
        "offset",
        "end",
        "lag",
        "in flight",
        "consumed up to",
    )
    rows: list[tuple[object, ...]] = [
        (
            each.queue.topic,
            each.queue.broker,
            each.queue.queue_id,
            each.offset,
            each.max_offset,
            each.lag,
            each.in_flight,
            iso(each.last_store_timestamp),
        )
        for each in found.queues
    ]
    if args.owners:
        headers += ("client",)
        rows = [(*row, each.client_id) for row, each in zip(rows, found.queues, strict=True)]
    output.show_table(headers, rows)
    print(f"\nlag {found.lag}, in flight {found.in_flight}, read a second {found.consume_tps:.2f}")
