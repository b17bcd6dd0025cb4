"""What the verbs of `tailfin store` share: the path, `--config`, `--json`, times and progress."""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tailfin.config.store import StoreConfig
from tailfin.store.offline import StoreFiles

OFFSET_MAX = 2**63 - 1


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that every verb takes."""
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a store directory, of Tailfin or of RocketMQ"
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="broker.conf, when paths or sizes are set in it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def settings(args: argparse.Namespace) -> StoreConfig:
    """Read `--config`."""
    return StoreConfig.load(args.config) if args.config else StoreConfig()


def files(args: argparse.Namespace) -> StoreFiles:
    """Find the store's files."""
    return StoreFiles.find(args.path, settings(args))


def iso(milliseconds: int | None) -> str:
    """Write a time for people, in UTC."""
    if milliseconds is None:
        return "-"
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def offset(text: str) -> int:
    """Read an offset of the log."""
    if not text.isdecimal() or (number := int(text)) > OFFSET_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no offset: use a number from 0 to {OFFSET_MAX}")
    return number


def moment(text: str) -> int:
    """Read a time: milliseconds since the epoch, or ISO 8601 (local time when it names no zone)."""
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: use 2026-01-31T12:00:00Z or milliseconds since the epoch"
        ) from None


class Meter:
    """One line of progress on the terminal, renewed a few times a second; silent elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._next = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + 0.2
        share = f"{done * 100 // total:3d} %" if total else f"{done:,}"
        print(f"\r\033[K{what}: {share}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown and self._next:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._next = 0.0
