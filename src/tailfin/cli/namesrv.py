"""Run a name server until Ctrl-C.

Settings come from RocketMQ's namesrv.conf, then from the options here; a key that nobody knows is an error.
Brokers and clients find it at HOST:PORT; several name servers need not know of each other.

Examples:
  tailfin namesrv
  tailfin namesrv -p 9877
  tailfin namesrv -c namesrv.conf --set orderMessageEnable=true
  tailfin namesrv -c namesrv.conf -p          (print every setting and exit)
"""

import argparse
import asyncio

from tailfin.cli import serving
from tailfin.config import properties
from tailfin.config.namesrv import NamesrvSettings
from tailfin.namesrv import NameServer

_PRINT = "print"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-c", "--config", metavar="FILE", help="a file like RocketMQ's namesrv.conf")
    parser.add_argument(
        "-p", "--port", nargs="?", const=_PRINT, help="port to listen on (9876); without one: print settings"
    )
    parser.add_argument("--host", help="address to listen at (0.0.0.0)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a setting that wins over the file"
    )


def run(args: argparse.Namespace) -> int:
    """Run the server, or print its settings."""
    settings = NamesrvSettings.load(args.config, **_given(args))
    if args.config:
        print(f"load config properties file OK, {args.config}", flush=True)
    if args.port == _PRINT:
        print(properties.text(settings.all()), end="")
        return 0
    serving.log_to_stderr()
    serving.take_all_descriptors()
    asyncio.run(_serve(settings))
    return 0


def _given(args: argparse.Namespace) -> dict[str, object]:
    given = serving.pairs(args.set)
    if args.port not in (None, _PRINT):
        given["listenPort"] = args.port
    if args.host:
        given["bindAddress"] = args.host
    return given


async def _serve(settings: NamesrvSettings) -> None:
    stopping = serving.asked_to_stop()
    async with NameServer(settings).running() as server:
        address = f"{settings.server.bindAddress}:{server.port}"
        print(f"The Name Server boot success. serializeType=JSON, address {address}", flush=True)
        await stopping.wait()
    print("The Name Server has stopped.", flush=True)
