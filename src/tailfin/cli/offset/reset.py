"""Send a group elsewhere: to a time in all queues of a topic, or to an offset in one queue.

TIME is first, last, a time as 2026-01-31T12:00:00Z or in milliseconds since the epoch, or how long ago,
as 30m or 2h.

Examples:
  tailfin offset reset billing orders --to 2h --dry-run
  tailfin offset reset billing orders --to first
  tailfin offset reset billing orders --queue broker-a/3 --offset 1200
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import words
from tailfin.cli.offset import changes
from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("topic", metavar="TOPIC")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--to", type=words.place, metavar="TIME", help="first, last, or a time")
    target.add_argument("--offset", type=int, metavar="N", help="the next message, with --queue")
    parser.add_argument("--queue", type=words.queue, metavar="BROKER/N", help="the queue of --offset")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, show what would change")


def run(args: argparse.Namespace) -> int:
    """Reset the offsets."""
    return common.run(args, _reset)


async def _reset(admin: AdminClient, args: argparse.Namespace) -> None:
    if (args.offset is None) != (args.queue is None):
        raise ConfigError("--offset and --queue belong together: an offset is a place in one queue")
    if args.queue:
        queue = Queue(args.topic, *args.queue)
        made = [await admin.offsets.reset_queue(args.group, queue, args.offset, dry_run=args.dry_run)]
    else:
        made = [*await admin.offsets.reset(args.group, args.topic, args.to, dry_run=args.dry_run)]
    changes.show(args, made, done=not args.dry_run)
