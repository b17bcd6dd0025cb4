"""What the commands over `tailfin.admin` share: where the cluster is, on which brokers, how they end."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from tailfin.admin.client import TIMEOUT_S, AdminClient
from tailfin.client.errors import ClientError
from tailfin.client.options import NAMESERVER_VARIABLE, ClientKeywords
from tailfin.config.setting import ConfigError
from tailfin.wire.error import FAQ, RemotingError

NAMESERVER = "127.0.0.1:9876"

Work = Callable[[AdminClient, argparse.Namespace], Awaitable[None]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command over the admin client takes."""
    parser.add_argument(
        "-n",
        "--nameserver",
        metavar="HOST:PORT",
        help=f"name servers, joined by ';' (default: ${NAMESERVER_VARIABLE}, else {NAMESERVER})",
    )
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT_S, metavar="S", help=f"seconds for a request ({TIMEOUT_S:g})"
    )
    parser.add_argument("--access-key", metavar="KEY", help="sign requests, with --secret-key")
    parser.add_argument("--secret-key", metavar="KEY", help="(default: $TAILFIN_SECRET_KEY)")
    parser.add_argument("--tls", action="store_true", help="speak TLS")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def where(parser: argparse.ArgumentParser) -> None:
    """Declare on which brokers something is done."""
    some = parser.add_mutually_exclusive_group()
    some.add_argument("-c", "--cluster", metavar="NAME", help="on the masters of this cluster (default: all)")
    some.add_argument("-b", "--broker", metavar="NAME", help="on this broker only, by name or address")


def options(args: argparse.Namespace) -> ClientKeywords:
    """Return the options of a client as the command line gives them."""
    return ClientKeywords(
        nameserver=args.nameserver or os.environ.get(NAMESERVER_VARIABLE) or NAMESERVER,
        request_timeout=args.timeout,
        access_key=args.access_key,
        secret_key=(args.secret_key or os.environ.get("TAILFIN_SECRET_KEY")) if args.access_key else None,
        tls=args.tls,
    )


def run(args: argparse.Namespace, work: Work) -> int:
    """Do the work with an admin client; what goes wrong is told in a sentence, with exit code 1."""

    async def with_client() -> None:
        async with AdminClient(**options(args)) as admin:
            await work(admin, args)

    return carry_out(with_client)


def carry_out(work: Callable[[], Awaitable[None]]) -> int:
    """Run a coroutine; what goes wrong is told in a sentence, with exit code 1."""

    async def awaited() -> None:
        await work()

    try:
        asyncio.run(awaited())
    except (ClientError, RemotingError, ConfigError) as error:
        print(f"tailfin: {str(error).replace(FAQ, '')}", file=sys.stderr)
        return 1
    return 0
