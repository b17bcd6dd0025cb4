"""Start a whole RocketMQ here: name server and broker in one process, until Ctrl-C.

Data is kept in ./tailfin-data (--data DIR), or nowhere (--ephemeral). By default only this machine can
connect; --host lets others in.

Examples:
  tailfin start
  tailfin start --ephemeral
  tailfin start --data /var/lib/tailfin --host 0.0.0.0
  tailfin start --port 19876 --broker-port 20911 --set autoCreateTopicEnable=false
"""

import argparse
import asyncio
import contextlib
import logging
import tempfile
from pathlib import Path

from tailfin.cli.next_steps import next_steps
from tailfin.cli.serving import asked_to_stop, log_to_stderr, pairs, take_all_descriptors
from tailfin.cluster import Node


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--data", metavar="DIR", default="tailfin-data", help="keep data here (./tailfin-data)"
    )
    where.add_argument("--ephemeral", action="store_true", help="forget everything at the end")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument("--port", type=int, default=9876, help="port of the name server (9876)")
    parser.add_argument("--broker-port", type=int, default=10911, help="port of the broker (10911)")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a setting of broker.conf"
    )


def run(args: argparse.Namespace) -> int:
    """Run both until someone asks to stop."""
    log_to_stderr(logging.INFO if args.verbose else logging.WARNING)
    take_all_descriptors()
    with contextlib.ExitStack() as stack:
        data = Path(args.data)
        if args.ephemeral:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tailfin-")))
        asyncio.run(_serve(args, data, pairs(args.set)))
    return 0


async def _serve(args: argparse.Namespace, data: Path, given: dict[str, object]) -> None:
    stopping = asked_to_stop()
    node = Node(
        data,
        host=args.host,
        namesrv_port=args.port,
        broker_port=args.broker_port,
        small_files=args.ephemeral,
        settings=given,
    )
    async with node:
        kept = f"{data} (gone when this ends)" if args.ephemeral else str(data.absolute())
        print(next_steps(node.namesrv, node.broker.address, kept), flush=True)
        await stopping.wait()
        print("Stopping ...", flush=True)
