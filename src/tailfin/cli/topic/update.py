"""Change some settings of a topic.

Examples:
  tailfin topic update orders --queues 16
  tailfin topic update orders --perm r --broker broker-a
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output, words


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    common.where(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-q", "--queues", type=words.positive, metavar="N", help="to read and to write")
    parser.add_argument("--read-queues", type=words.positive, metavar="N", help="to read")
    parser.add_argument("--write-queues", type=words.positive, metavar="N", help="to write")
    parser.add_argument("--perm", type=words.perm, help="rw, r or w")


def run(args: argparse.Namespace) -> int:
    """Change the topic."""
    return common.run(args, _update)


async def _update(admin: AdminClient, args: argparse.Namespace) -> None:
    settings = await admin.topics.update(
        args.topic,
        queues=args.queues,
        read_queues=args.read_queues,
        write_queues=args.write_queues,
        perm=args.perm,
        cluster=args.cluster,
        broker=args.broker,
    )
    if args.json:
        output.show_json(settings)
        return
    output.show_table(
        ("broker", "read queues", "write queues", "perm"),
        [
            (broker, each.read_queue_nums, each.write_queue_nums, output.permission(each.perm))
            for broker, each in settings.items()
        ],
    )
