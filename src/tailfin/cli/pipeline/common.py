"""What the verbs of `tailfin pipeline` share: Spark, the cluster, the progress line, how they end."""

import argparse
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tailfin.cli import admin
from tailfin.cli.words import pair
from tailfin.client.errors import ClientError
from tailfin.client.options import NAMESERVER_VARIABLE
from tailfin.pipeline import reading, session
from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.progress import Progress
from tailfin.pipeline.sentences import sentence, spark_errors
from tailfin.pipeline.watching import PipelineFailed
from tailfin.wire.error import FAQ, RemotingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

EVERY_S = 10.0


def spark_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how Spark is started."""
    parser.add_argument(
        "--master",
        metavar="URL",
        help=f"Spark's master (default: that of spark-submit, else {session.LOCAL})",
    )
    parser.add_argument(
        "--conf",
        type=pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark; may be repeated",
    )


def file_arguments(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Declare the file, and what takes the place of its settings."""
    parser.add_argument(
        "file", type=Path, nargs="+" if several else None, metavar="FILE", help="a pipeline, in YAML"
    )
    parser.add_argument(
        "-n", "--nameserver", metavar="HOST:PORT", help="name servers, in the place of the file's"
    )


def load(args: argparse.Namespace, file: Path) -> Pipeline:
    """Read a pipeline file."""
    otherwise = os.environ.get(NAMESERVER_VARIABLE) or admin.NAMESERVER
    return reading.load(file, nameserver=args.nameserver, otherwise=otherwise)


def source_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the options of Spark's source that say how the cluster is reached."""
    given = admin.options(args)
    found = {
        "nameServer": given.get("nameserver"),
        "accessKey": given.get("access_key"),
        "secretKey": given.get("secret_key"),
        "tls": "true" if given.get("tls") else None,
        "requestTimeoutMs": str(round(args.timeout * 1000)),
    }
    return {name: str(value) for name, value in found.items() if value}


def edges(args: argparse.Namespace) -> dict[str, str]:
    """Return the options of Spark's source for `--from` and `--to`, which are places in a topic."""
    found = {}
    for which, place in (("starting", args.start), ("ending", args.end)):
        if isinstance(place, int):
            found[f"{which}Timestamp"] = str(place)
        elif place is not None:
            found[f"{which}Offsets"] = {"first": "earliest", "last": "latest"}[place]
    return found


def with_spark(
    args: argparse.Namespace,
    name: str,
    work: "Callable[[SparkSession], int]",
    settings: dict[str, str] | None = None,
) -> int:
    """Do the work with Spark; what goes wrong is told in a sentence, with exit code 1."""

    def with_session() -> int:
        with session.spark(name, args.master, {**(settings or {}), **dict(args.conf)}) as found:
            # PySpark logs a query's mistake with all of its stack; here it is told in a sentence.
            logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
            try:
                return work(found)
            except spark_errors() as error:
                raise PipelineFailed(sentence(error)) from None

    return carry_out(with_session)


def carry_out(work: "Callable[[], int]") -> int:
    """Do the work; what goes wrong is told in a sentence, with exit code 1."""
    try:
        return work()
    except (PipelineFailed, ClientError, RemotingError) as error:
        print(f"tailfin: {str(error).replace(FAQ, '')}", file=sys.stderr)
        return 1


class ProgressLine:
    """What happens, on standard error: one line that is renewed on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._renewed = sys.stderr.isatty()
        self._next = 0.0
        self._is_shown = False

    def batch(self, done: Progress) -> None:
        """Show a batch."""
        self.show(done.line)

    def show(self, line: str) -> None:
        """Show a line."""
        if self._renewed:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
            self._is_shown = True
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_S
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the renewed line away."""
        if self._is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._is_shown = False
