"""Filters of a query: what is taken over, and what is left to Spark."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from tailfin.arrow.ranges import QueueRange
from tailfin.client.queues import Queue
from tailfin.spark.filters import Kept, Pushed, push
from tailfin.spark.options import SourceOptions

WHOLE = QueueRange("orders", "broker-a", 3, 10, 100)


def taken(*filters: Filter) -> Pushed:
    pushed, left = push(filters)
    assert left == []
    return pushed


def left(*filters: Filter) -> list[Any]:
    return push(filters)[1]


def options(**given: str) -> SourceOptions:
    return SourceOptions.parse({"nameServer": "ns:9876", "topic": "orders", **given})


def test_filters_on_topic_broker_and_queue_leave_whole_queues_out() -> None:
    pushed = taken(
        In(("topic",), ("orders", "bills")),
        Not(EqualTo(("brokerName",), "broker-b")),
        GreaterThan(("queueId",), 2),
        StringStartsWith(("topic",), "ord"),
        IsNotNull(("queueId",)),
    )

    assert pushed.wants(Queue("orders", "broker-a", 3))
    assert not pushed.wants(Queue("bills", "broker-a", 3))
    assert not pushed.wants(Queue("orders", "broker-b", 3))
    assert not pushed.wants(Queue("orders", "broker-a", 2))


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        (EqualTo(("queueOffset",), 50), 50, 51),
        (GreaterThan(("queueOffset",), 50), 51, 100),
        (GreaterThanOrEqual(("queueOffset",), 50), 50, 100),
        (LessThan(("queueOffset",), 50), 10, 50),
        (LessThanOrEqual(("queueOffset",), 50), 10, 51),
        (EqualTo(("queueOffset",), 500), 500, 500),
        (LessThan(("queueOffset",), 5), 10, 10),
    ],
)
def test_bounds_of_offsets_shorten_a_range(given: Filter, start: int, end: int) -> None:
    found = taken(given).within(WHOLE)
    assert (found.start, found.end) == (start, end)


def test_times_shorten_a_range_and_are_left_to_spark_as_well() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    filters = [GreaterThan(("storeTimestamp",), noon), LessThan(("storeTimestamp",), noon.replace(hour=13))]
    pushed, rest = push(filters)

    ms = int(noon.timestamp() * 1000)
    assert rest == filters
    assert pushed.time_bounds() == (ms, ms + 3_600_001)
    assert Pushed().time_bounds() == (None, None)


def test_tags_and_keys_are_compared_in_arrow() -> None:
    kept = taken(
        In(("tags",), ("paid", None, "sent")), EqualTo(("tags",), "paid"), EqualTo(("keys",), "7")
    ).kept
    batch = pa.record_batch({"tags": ["paid", "sent", None, "paid"], "keys": ["7", "7", "7", None]})

    assert kept.of(batch).to_pylist() == [{"tags": "paid", "keys": "7"}]
    assert Kept().of(batch) is batch


def test_brokers_are_asked_for_the_tags_unless_the_user_asked_for_something() -> None:
    kept = Kept({"tags": frozenset({"paid", "sent"})})

    assert kept.expression(options()) == "paid || sent"
    assert kept.expression(options(subExpression="a || b")) == "a || b"
    assert kept.expression(options(subExpression="x > 1", expressionType="SQL92")) == "x > 1"
    assert Kept({"tags": frozenset({"odd || tag"})}).expression(options()) == "*"
    assert Kept({"keys": frozenset({"7"})}).expression(options()) == "*"


@pytest.mark.parametrize(
    "given",
    [
        EqualTo(("body",), b"x"),
        EqualTo(("properties", "a"), "x"),
        IsNull(("tags",)),
        IsNotNull(("tags",)),
        Not(EqualTo(("tags",), "x")),
        Not(EqualTo(("queueOffset",), 1)),
        In(("queueOffset",), (1, 2)),
    ],
)
def test_everything_else_is_left_to_spark(given: Filter) -> None:
    assert left(given) == [given]
