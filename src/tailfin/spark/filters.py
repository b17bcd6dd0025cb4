"""Filters of a query that are evaluated before its rows reach Spark.

What only depends on the queue leaves whole queues out; bounds of offset and time shorten ranges; tags and
keys are compared in Arrow, tags at the broker already. No I/O.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil, floor
from typing import Any

import pyarrow as pa

from tailfin.arrow.ranges import QueueRange
from tailfin.client.queues import Queue
from tailfin.spark.options import SourceOptions

_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": operator.eq,
    "EqualNullSafe": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "In": lambda value, values: value in values,
    "StringStartsWith": str.startswith,
    "StringEndsWith": str.endswith,
    "StringContains": operator.contains,
}
_OF_QUEUE = {"topic": "topic", "brokerName": "broker", "queueId": "queue_id"}
_NEVER_NULL = {*_OF_QUEUE, "queueOffset", "storeTimestamp"}
_IN_ARROW = {"tags", "keys"}


@dataclass(frozen=True)
class Test:
    """A filter on one column: `test(value of the column, value)`."""

    column: str
    kind: str
    value: Any
    negated: bool = False

    def holds(self, value: object) -> bool:
        """Whether a value passes."""
        return _TESTS[self.kind](value, self.value) != self.negated


@dataclass(frozen=True)
class Kept:
    """The rows that a task keeps, by the values that tags and keys may have; it travels to executors."""

    allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, messages: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are kept."""
        if not self.allowed:
            return messages
        import pyarrow.compute as pc  # it takes a while, and most tasks keep everything

        for column, values in self.allowed.items():
            wanted = pa.array(sorted(values), pa.string())
            messages = messages.filter(pc.is_in(messages.column(column), value_set=wanted))
        return messages

    def expression(self, options: SourceOptions) -> str:
        """Return what brokers are asked for: the user's expression, or else the tags that are kept."""
        tags = sorted(self.allowed.get("tags", ()))
        if options.expressionType != "TAG" or options.subExpression != "*" or not tags:
            return options.subExpression
        plain = all(tag and tag == tag.strip() and "|" not in tag and tag != "*" for tag in tags)
        return " || ".join(tags) if plain else options.subExpression


@dataclass(frozen=True)
class Pushed:
    """What a query's filters say about queues, offsets and times."""

    queues: tuple[Test, ...] = ()
    offsets: tuple[Test, ...] = ()
    times: tuple[Test, ...] = ()
    kept: Kept = field(default_factory=Kept)

    def wants(self, queue: Queue) -> bool:
        """Whether a queue can have rows that pass."""
        return all(test.holds(getattr(queue, _OF_QUEUE[test.column])) for test in self.queues)

    def within(self, part: QueueRange) -> QueueRange:
        """Return the part of a part that the bounds of offsets leave."""
        start, end = _bounds(self.offsets, part.start, part.end)
        return replace(part, start=start, end=max(start, end))

    def time_bounds(self) -> tuple[int | None, int | None]:
        """Return between which times messages are stored that pass: from, to before, in milliseconds."""
        lows = [floor(_ms(test.value)) for test in self.times if test.kind in (*_LOWER, *_EXACT)]
        highs = [ceil(_ms(test.value)) + 1 for test in self.times if test.kind in (*_UPPER, *_EXACT)]
        return max(lows, default=None), min(highs, default=None)


_EXACT, _LOWER, _UPPER = (
    ("EqualTo", "EqualNullSafe"),
    ("GreaterThan", "GreaterThanOrEqual"),
    ("LessThan", "LessThanOrEqual"),
)


def _bounds(tests: Sequence[Test], start: int, end: int) -> tuple[int, int]:
    for test in tests:
        if test.kind in (*_LOWER, *_EXACT):
            start = max(start, test.value + (test.kind == "GreaterThan"))
        if test.kind in (*_UPPER, *_EXACT):
            end = min(end, test.value + (test.kind != "LessThan"))
    return start, end


def _ms(moment: datetime) -> float:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp() * 1000


def push(filters: Sequence[Any]) -> tuple[Pushed, list[Any]]:
    """Take over the filters that can be taken over.

    Args:
        filters: PySpark's; all of them must hold.

    Returns:
        What they say, and the filters that Spark must evaluate all the same.
    """
    queues, offsets, times, left = [], [], [], []
    allowed: dict[str, frozenset[str]] = {}
    for each in filters:
        test = _test(each)
        if test is None:
            left.append(each)
        elif test.kind == "IsNotNull":
            if test.column not in _NEVER_NULL or test.negated:
                left.append(each)
        elif test.column in _OF_QUEUE:
            queues.append(test)
        elif test.column == "queueOffset" and not test.negated and test.kind in (*_EXACT, *_LOWER, *_UPPER):
            offsets.append(test)
        elif test.column in _IN_ARROW and not test.negated and test.kind in (*_EXACT, "In"):
            values = frozenset(test.value if test.kind == "In" else [test.value]) - {None}
            allowed[test.column] = values & allowed.get(test.column, values)
        else:
            # Brokers find a time to the millisecond, Spark compares to the microsecond.
            if test.column == "storeTimestamp" and not test.negated:
                times.append(test)
            left.append(each)
    return Pushed(tuple(queues), tuple(offsets), tuple(times), Kept(allowed)), left


def _test(given: object) -> Test | None:
    """Return a filter in our words, by the name of its class: older versions of PySpark have none."""
    negated = type(given).__name__ == "Not"
    inner = getattr(given, "child", None) if negated else given
    kind = type(inner).__name__
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1 or (kind not in _TESTS and kind != "IsNotNull"):
        return None
    value = getattr(inner, "value", None)
    return None if value is None and kind != "IsNotNull" else Test(path[0], kind, value, negated)
