"""Where reading a queue begins."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Literal, NamedTuple

from tailfin.wire.bodies.clients import ConsumeFromWhere
from tailfin.wire.header import now_ms

ConsumeFrom = Literal["last", "first"] | datetime


class Ask(Enum):
    """What has to be asked of the broker to know the offset."""

    MIN = "min"
    MAX = "max"
    TIME = "time"


class Start(NamedTuple):
    """Where to begin: at `offset`, or at the answer to `ask`; `why` is for the log."""

    offset: int | None
    ask: Ask | None
    why: str


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a queue before it is read.

    Attributes:
        stored: the group's offset; None: it has none.
        certain: whether `stored` was really committed. Brokers before 5.0 answer 0 for a queue whose first
            message is still in memory, whether or not the group ever read it.
        retry: whether the queue holds messages that the group handed back.
        appeared: whether the queue was added to the topic while this consumer was running.
    """

    stored: int | None
    certain: bool = True
    retry: bool = False
    appeared: bool = False


def first_offset(consume_from: ConsumeFrom, place: Place) -> Start:
    """Decide where to begin. The user's word holds for every group that has no offset yet."""
    if place.stored is not None and place.certain:
        return Start(place.stored, None, "the group's offset")
    if place.retry:
        # Whatever stands in it was handed back by this very group.
        return Start(None, Ask.MIN, "the group's own retries")
    if place.appeared:
        return Start(None, Ask.MIN, "the queue was added while this consumer ran: nothing of it was read yet")
    if isinstance(consume_from, datetime):
        return Start(None, Ask.TIME, f"no offset yet, consume_from={consume_from.isoformat()}")
    ask = Ask.MIN if consume_from == "first" else Ask.MAX
    return Start(None, ask, f"no offset yet, consume_from={consume_from!r}")


def check_consume_from(given: object) -> ConsumeFrom:
    """Return what a user gave, checked."""
    if isinstance(given, datetime) or given in ("last", "first"):
        return given
    raise ValueError(f'consume_from is "last", "first" or a datetime, not {given!r}')


def in_heartbeat(consume_from: ConsumeFrom) -> ConsumeFromWhere:
    """Return what brokers are told."""
    if isinstance(consume_from, datetime):
        return ConsumeFromWhere.CONSUME_FROM_TIMESTAMP
    if consume_from == "first":
        return ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    return ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET


def search_time_ms(consume_from: datetime) -> int:
    """Return a moment as brokers search by it; one without a time zone is local time."""
    return min(int(consume_from.timestamp() * 1000), now_ms())
