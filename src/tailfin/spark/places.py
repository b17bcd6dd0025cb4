"""Where reading begins and ends, as options say it. No I/O."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.spark.offsets import from_json, said, whole
from tailfin.spark.parsing import milliseconds

FIRST, LAST = -2, -1
"""The ends of a queue in place of an offset, as the Kafka connector writes them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a queue: one of its ends, an offset, or a time in milliseconds since 1970."""

    kind: Literal["first", "last", "offset", "time"]
    value: int = 0


@dataclass(frozen=True, slots=True)
class Ends:
    """What a broker says of a queue: its first offset, the one after its last."""

    first: int
    end: int


@dataclass(frozen=True)
class Where:
    """A place for all queues, or one for each.

    Attributes:
        option: the option that says it, for errors.
        everywhere: the place in all queues; None: `places` says it.
        places: the place in each queue.
    """

    option: str
    everywhere: Place | None
    places: Mapping[Queue, Place]

    def of(self, queue: Queue) -> Place:
        """Return the place in a queue."""
        if self.everywhere is not None:
            return self.everywhere
        try:
            return self.places[queue]
        except KeyError:
            raise ConfigError(
                f"{self.option} does not name {said(queue)}: name every queue that is read, or choose them "
                "with assign"
            ) from None

    def check(self, queues: Mapping[Queue, Ends]) -> None:
        """Raise ConfigError for a queue that is named and not there."""
        for queue in self.places:
            if queue not in queues:
                raise ConfigError(f"{self.option} names {said(queue)}, which is not there, or not read")

    def times(self, queues: Mapping[Queue, Ends]) -> dict[Queue, int]:
        """Return the times that brokers must be asked about."""
        return {queue: place.value for queue in queues if (place := self.of(queue)).kind == "time"}

    def offset(self, queue: Queue, ends: Ends, at_time: Mapping[Queue, int]) -> int:
        """Return the offset of the place in a queue.

        Args:
            queue: the queue.
            ends: its ends.
            at_time: the brokers' answers to `times`.
        """
        place = self.of(queue)
        if place.kind == "first":
            return ends.first
        if place.kind == "last":
            return ends.end
        if place.kind == "time":
            return min(max(at_time[queue], ends.first), ends.end)
        if place.value > ends.end:
            raise ConfigError(
                f"{self.option}: {said(queue)} ends at {ends.end}: there is no offset {place.value}"
            )
        return place.value


def where(edge: Literal["starting", "ending"], offsets: str, timestamp: str, default: str) -> Where:
    """Read a pair of options such as `startingOffsets` and `startingTimestamp`."""
    if timestamp:
        return _parsed(f"{edge}Timestamp", timestamp, _time)
    return _parsed(f"{edge}Offsets", offsets or default, _offset)


def _parsed(option: str, text: str, read: Callable[[object], Place]) -> Where:
    if not text.lstrip().startswith("{"):
        try:
            return Where(option, read(text), {})
        except ValueError as error:
            raise ConfigError(f"{option}: {error}") from None
    try:
        nested = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{option} is no JSON: {error}") from None
    return Where(option, None, from_json(nested, option, read))


def _offset(value: object) -> Place:
    if isinstance(value, str):
        kinds: dict[str, Literal["first", "last"]] = {"earliest": "first", "latest": "last"}
        kind = kinds.get(value.strip().lower())
        if kind is None:
            raise ValueError(f"earliest, latest, or JSON with an offset for each queue, not {value!r}")
        return Place(kind)
    number = whole(value)
    if number < FIRST:
        raise ValueError(f"an offset of 0 or more, {FIRST} for earliest or {LAST} for latest, not {number}")
    return {FIRST: Place("first"), LAST: Place("last")}.get(number) or Place("offset", number)


def _time(value: object) -> Place:
    return Place("time", milliseconds(value) if isinstance(value, str) else whole(value))
