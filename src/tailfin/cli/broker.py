"""Run a broker until Ctrl-C.

Settings come from RocketMQ's own broker.conf, then from the options here; a key that nobody knows is an
error. One broker.conf feeds broker, store and sockets.

Examples:
  tailfin broker -n 127.0.0.1:9876
  tailfin broker -c broker.conf -n "10.0.0.1:9876;10.0.0.2:9876"
  tailfin broker -c broker.conf --set brokerIP1=10.0.0.7 --set flushDiskType=SYNC_FLUSH
  tailfin broker -c broker.conf -p            (print every setting and exit)
"""

import argparse
import asyncio

from tailfin.broker.app import Broker
from tailfin.cli.serving import asked_to_stop, log_to_stderr, pairs, take_all_descriptors
from tailfin.config import BrokerSettings, properties

IMPORTANT = (
    "namesrvAddr",
    "brokerClusterName",
    "brokerName",
    "brokerId",
    "brokerRole",
    "brokerIP1",
    "bindAddress",
    "listenPort",
    "storePathRootDir",
    "flushDiskType",
    "deleteWhen",
    "fileReservedTime",
    "autoCreateTopicEnable",
    "brokerPermission",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-c", "--config", metavar="FILE", help="a file like RocketMQ's broker.conf")
    parser.add_argument("-n", "--namesrv", metavar="HOST:PORT", help="name servers, joined by ';'")
    parser.add_argument("-p", "--print", action="store_true", help="print every setting and exit")
    parser.add_argument("-m", "--print-important", action="store_true", help="print the main ones and exit")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a setting that wins over the file"
    )


def run(args: argparse.Namespace) -> int:
    """Run the broker, or print its settings."""
    if not (args.print or args.print_important):
        log_to_stderr()
    given: dict[str, object] = pairs(args.set)
    if args.namesrv:
        given["namesrvAddr"] = args.namesrv
    settings = BrokerSettings.load(args.config, **given)
    if args.print or args.print_important:
        chosen = settings.all()
        if not args.print:
            chosen = {key: chosen[key] for key in IMPORTANT}
        print(properties.text(chosen), end="")
        return 0
    take_all_descriptors()
    asyncio.run(_serve(settings))
    return 0


async def _serve(settings: BrokerSettings) -> None:
    stopping = asked_to_stop()
    async with Broker(settings) as broker:
        print(broker.boot_line(), flush=True)
        if not settings.broker.name_servers():
            print(
                "No name server is given (-n): clients can only find this broker by its address.", flush=True
            )
        await stopping.wait()
        print("Stopping ...", flush=True)
