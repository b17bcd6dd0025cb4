"""Words of the command line: places in queues, durations, queues, permissions."""

import argparse
import re
from collections.abc import Iterable

from tailfin import durations
from tailfin.admin.times import Target
from tailfin.cli.store.common import moment
from tailfin.client.consuming.subscriptions import tags_of
from tailfin.client.queues import Queue
from tailfin.wire.bodies.topics import Perm
from tailfin.wire.header import now_ms

UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
ENDS: dict[str, Target] = {"first": "first", "last": "last"}


def place(text: str) -> Target:
    """Read a place in a queue: `first`, `last`, a time, or how long ago, as `30m` or `2h`."""
    if text in ENDS:
        return ENDS[text]
    ago = re.fullmatch(r"(\d+)([smhd])", text)
    if ago:
        return now_ms() - int(ago[1]) * UNITS_MS[ago[2]]
    try:
        return moment(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no place: use first, last, a time as 2026-01-31T12:00:00Z or milliseconds since "
            "the epoch, or how long ago, as 30m or 2h"
        ) from None


def seconds(text: str) -> float:
    """Read a duration: seconds, or with a unit, as `500ms`, `10s`, `5m`, `2h`, `1d`."""
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def tags(text: str) -> str:
    """Read tags: `a`, `a || b`, or `*`."""
    try:
        tags_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def queue(text: str) -> tuple[str, int]:
    """Read a broker's queue, as `broker-a/0`."""
    broker, slash, number = text.rpartition("/")
    if not slash or not broker or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no queue: use BROKER/NUMBER, as broker-a/0")
    return broker, int(number)


def queues(topic: str, given: Iterable[tuple[str, int]]) -> list[Queue] | None:
    """Return the queues of a topic that `--queue` names; None: all."""
    return [Queue(topic, broker, number) for broker, number in given] or None


def perm(text: str) -> Perm:
    """Read a permission: `r`, `w` or `rw`."""
    if text not in ("r", "w", "rw"):
        raise argparse.ArgumentTypeError(f"{text!r} is no permission: use rw, r or w")
    return (Perm.READ if "r" in text else Perm(0)) | (Perm.WRITE if "w" in text else Perm(0))


def pair(text: str) -> tuple[str, str]:
    """Read `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def positive(text: str) -> int:
    """Read a number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)
