"""A group begins where its offset is, and without one where its user says."""

from datetime import UTC, datetime

import pytest

from tailfin.client.consuming.starting import (
    Ask,
    ConsumeFrom,
    Place,
    check_consume_from,
    first_offset,
    in_heartbeat,
    search_time_ms,
)
from tailfin.wire.bodies.clients import ConsumeFromWhere

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("consume_from", ["last", "first", NOON])
def test_a_stored_offset_wins(consume_from: ConsumeFrom) -> None:
    assert first_offset(consume_from, Place(7)).offset == 7
    assert first_offset(consume_from, Place(0)).offset == 0


@pytest.mark.shows("OF-05")
@pytest.mark.parametrize(("consume_from", "ask"), [("last", Ask.MAX), ("first", Ask.MIN), (NOON, Ask.TIME)])
def test_without_an_offset_the_users_word_holds(consume_from: ConsumeFrom, ask: Ask) -> None:
    assert first_offset(consume_from, Place(None))[:2] == (None, ask)
    # A broker before 5.0 answers 0 for a young queue, whether or not the group ever read it.
    assert first_offset(consume_from, Place(0, certain=False))[:2] == (None, ask)


@pytest.mark.parametrize("consume_from", ["last", "first", NOON])
def test_retries_and_queues_that_appear_later_are_read_whole(consume_from: ConsumeFrom) -> None:
    assert first_offset(consume_from, Place(None, retry=True)).ask is Ask.MIN
    assert first_offset(consume_from, Place(None, appeared=True)).ask is Ask.MIN


def test_the_reason_is_said() -> None:
    assert "consume_from='last'" in first_offset("last", Place(None)).why
    assert "2026-01-01T12:00:00" in first_offset(NOON, Place(None)).why


def test_brokers_are_told_by_rocketmqs_names() -> None:
    assert in_heartbeat("last") is ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    assert in_heartbeat("first") is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    assert in_heartbeat(NOON) is ConsumeFromWhere.CONSUME_FROM_TIMESTAMP


def test_a_moment_is_searched_for_in_milliseconds() -> None:
    assert search_time_ms(NOON) == 1_767_268_800_000


@pytest.mark.parametrize("wrong", ["latest", None, 5])
def test_another_word_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match='consume_from is "last", "first" or a datetime'):
        check_consume_from(wrong)
