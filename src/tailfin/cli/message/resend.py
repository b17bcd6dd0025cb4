"""Send a copy of a message to its topic, or have one consumer consume it now.

With --group and --client nothing is sent: that consumer gets the message, and its offset does not move.

Examples:
  tailfin message resend orders 7F0000010001000000000000000000A1
  tailfin message resend orders 7F0000010001000000000000000000A1 --group billing --client 10.0.0.9@1
"""

import argparse

from tailfin.admin.client import AdminClient
from tailfin.cli import admin as common
from tailfin.cli import output
from tailfin.config.setting import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--group", help="the consumer's group, with --client")
    parser.add_argument("--client", metavar="ID", help="the consumer, as `tailfin group show` lists it")


def run(args: argparse.Namespace) -> int:
    """Send the message again."""
    return common.run(args, _resend)


async def _resend(admin: AdminClient, args: argparse.Namespace) -> None:
    if bool(args.group) != bool(args.client):
        raise ConfigError("--group and --client belong together: a client may be in several groups")
    message = await admin.messages.find(args.topic, args.id)
    if args.client:
        outcome = await admin.messages.consume_directly(message, args.group, args.client)
        if args.json:
            output.show_json(outcome)
        else:
            said = f": {outcome.remark}" if outcome.remark else ""
            print(f"{outcome.consume_result} after {outcome.spent_time_mills} ms{said}")
        return
    result = await admin.messages.resend(message)
    if args.json:
        output.show_json(result._asdict())
    else:
        print(f"sent again to {result.queue.broker}/{result.queue.queue_id} at {result.queue_offset}")
