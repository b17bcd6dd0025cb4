"""Which queue a message goes to."""

from collections import Counter

import pytest

from tailfin.client.choosing import FaultTable, Turns, by_key
from tailfin.client.queues import Queue

QUEUES = [Queue("T", broker, number) for broker in "ab" for number in range(2)]
A, B = QUEUES[:2], QUEUES[2:]


@pytest.mark.shows("LB-01", "LB-03")
def test_queues_take_turns() -> None:
    turns = Turns(start=0)
    assert [turns.next(QUEUES) for _ in range(8)] == QUEUES + QUEUES


@pytest.mark.shows("FS-10")
def test_turns_go_on_where_java_begins_to_count_below_zero() -> None:
    turns = Turns(start=2**31 - 2)
    assert [turns.next(QUEUES) for _ in range(4)] == [QUEUES[2], QUEUES[3], QUEUES[0], QUEUES[1]]


def test_producers_begin_at_different_queues() -> None:
    assert len({Turns().next([Queue("T", "a", number) for number in range(1000)]) for _ in range(20)}) > 10


@pytest.mark.shows("FS-02", "PR-19")
def test_the_broker_that_failed_last_is_skipped() -> None:
    turns = Turns(start=0)
    assert {turns.next(QUEUES, last_broker="a").broker for _ in range(20)} == {"b"}


@pytest.mark.shows("FS-02")
def test_a_broker_that_is_alone_is_tried_again() -> None:
    turns = Turns(start=0)
    assert [turns.next(A, last_broker="a") for _ in range(4)] == A + A


@pytest.mark.shows("FS-03")
def test_an_avoided_broker_is_skipped_while_there_is_another() -> None:
    turns = Turns(start=0)
    assert {turns.next(QUEUES, avoided=lambda broker: broker == "a").broker for _ in range(20)} == {"b"}
    assert {turns.next(QUEUES, avoided=lambda broker: True).broker for _ in range(20)} == {"a", "b"}


@pytest.mark.shows("FS-03", "X-12")
def test_when_all_are_avoided_the_one_that_failed_last_still_is_skipped() -> None:
    turns = Turns(start=0)
    chosen = {turns.next(QUEUES, last_broker="b", avoided=lambda broker: True).broker for _ in range(20)}
    assert chosen == {"a"}


@pytest.mark.parametrize(("key", "place"), [("ab", 1), ("", 0), ("a", 1), ("polygenelubricants", 0)])
def test_a_key_has_the_queue_that_java_gives_it(key: str, place: int) -> None:
    # Java's hash of "a" is 97, of "ab" 3105, of the last one -2^31, which has no positive twin.
    assert by_key(QUEUES, key) == QUEUES[place]


def test_keys_spread_over_all_queues() -> None:
    counts = Counter(by_key(QUEUES, f"key-{number}") for number in range(400))
    assert set(counts) == set(QUEUES)


@pytest.mark.shows("FS-06")
@pytest.mark.parametrize(
    ("latency", "away"),
    [
        (0, 0),
        (49, 0),
        (50, 0),
        (549, 0),
        (550, 2000),
        (1800, 5000),
        (3000, 6000),
        (5000, 10000),
        (15000, 30000),
    ],
)
def test_a_slow_broker_is_left_alone_the_longer_the_slower_it_was(latency: int, away: int) -> None:
    assert FaultTable().away_for(latency) == away


@pytest.mark.shows("FS-08", "FS-09")
def test_a_broker_is_back_when_its_time_has_passed_or_it_was_quick() -> None:
    table = FaultTable()
    table.note("a", 600, now_ms=1000)
    assert table.is_away("a", 2999)
    assert not table.is_away("a", 3000)
    assert not table.is_away("b", 1000)
    table.note_failure("a", now_ms=5000)
    assert table.snapshot(6000) == {"a": 9000}
    table.note("a", 10, now_ms=6000)
    assert not table.is_away("a", 6000)
