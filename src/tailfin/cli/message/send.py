"""Send a message.

BODY is sent as UTF-8; `-` reads it from standard input, as bytes. A topic that is not there is made by
brokers that are set to (autoCreateTopicEnable), else `tailfin topic create` makes it.

Examples:
  tailfin message send orders "paid 42" --tags paid --keys 42
  tailfin message send orders "remind me" --delay 10m --property customer=7
  tailfin message send orders - < invoice.pdf
"""

import argparse
import sys

from tailfin.cli import admin as common
from tailfin.cli import output, words
from tailfin.client.messages import Message
from tailfin.client.producer import Producer
from tailfin.client.queues import Queue

GROUP = "tailfin-cli"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("body", metavar="BODY")
    parser.add_argument("--tags", help="its tag")
    parser.add_argument("--keys", action="append", metavar="KEY", help="a key to find it by; may be repeated")
    parser.add_argument(
        "--property",
        dest="properties",
        type=words.pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property; may be repeated",
    )
    parser.add_argument("--delay", type=words.seconds, metavar="TIME", help="deliver it later: 10s, 5m, 2h")
    parser.add_argument("--queue", type=words.queue, metavar="BROKER/N", help="to this queue")
    parser.add_argument("--sharding-key", metavar="KEY", help="to the queue of this key")
    parser.add_argument("--group", default=GROUP, help=f"producer group ({GROUP})")


def run(args: argparse.Namespace) -> int:
    """Send the message and print where it is."""
    return common.carry_out(lambda: _send(args))


async def _send(args: argparse.Namespace) -> None:
    body = sys.stdin.buffer.read() if args.body == "-" else args.body.encode()
    message = Message(
        args.topic,
        body,
        tags=args.tags,
        keys=args.keys,
        properties=dict(args.properties),
        delay=args.delay,
    )
    queue = Queue(args.topic, *args.queue) if args.queue else None
    async with Producer(args.group, timeout=args.timeout, **common.options(args)) as producer:
        result = await producer.send(message, queue=queue, sharding_key=args.sharding_key)
    if args.json:
        output.show_json(result._asdict())
        return
    where = f"{result.queue.broker}/{result.queue.queue_id} at {result.queue_offset}"
    print(f"{result.status.name} {result.message_id} {where}")
