import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailfin.arrow.ranges import QueueRange
from tailfin.client.errors import DataLost
from tailfin.client.queues import Queue
from tailfin.spark.offsets import Position
from tailfin.spark.places import Ends
from tailfin.spark.planning import (
    admit,
    advance,
    between,
    length,
    ranges,
    split,
    still_there,
)

A0, A1, B0 = Queue("t", "a", 0), Queue("t", "a", 1), Queue("t", "b", 0)

sizes = st.lists(st.integers(1, 500), min_size=1, max_size=12)
unhurried = settings(deadline=None, database=None)


def waiting(counts: list[int]) -> list[QueueRange]:
    return [QueueRange("t", "a", index, 5, 5 + count) for index, count in enumerate(counts)]


def test_what_is_read_lies_between_two_offsets() -> None:
    assert ranges({A0: 1, A1: 4, B0: 7}, {A0: 3, A1: 4}) == [QueueRange("t", "a", 0, 1, 3)]


@unhurried
@given(counts=sizes, rows=st.integers(1, 30_000))
def test_a_limit_is_used_up_exactly_and_every_queue_gets_its_share(counts: list[int], rows: int) -> None:
    parts = waiting(counts)
    ends = admit(parts, rows)
    taken = [ends.get(part.queue, part.start) - part.start for part in parts]

    assert sum(taken) == min(rows, sum(counts))
    assert all(0 <= share <= count for share, count in zip(taken, counts, strict=True))
    if rows >= len(counts):
        assert all(taken)
        for share, count in zip(taken, counts, strict=True):
            assert share <= 2 + rows * count / sum(counts)


def test_without_a_limit_everything_is_read() -> None:
    assert admit(waiting([3, 4]), None) == {A0: 8, A1: 9}


def test_with_fewer_rows_than_queues_each_queue_has_its_turn() -> None:
    first = admit([QueueRange("t", "a", 0, 0, 9), QueueRange("t", "a", 1, 0, 9)], 1)
    (queue,) = first
    start = {A0: 0, A1: 0, **first}
    second = admit([QueueRange("t", "a", index, start[Queue("t", "a", index)], 9) for index in (0, 1)], 1)

    assert queue not in second


@unhurried
@given(counts=sizes, least=st.integers(0, 200), longest=st.integers(0, 500))
def test_tasks_cover_every_offset_once(counts: list[int], least: int, longest: int) -> None:
    parts = waiting(counts)
    tasks = split(parts, least=least, longest=longest)

    offsets = [(task.queue, offset) for task in tasks for offset in range(task.start, task.end)]
    assert offsets == [(part.queue, offset) for part in parts for offset in range(part.start, part.end)]
    assert len(tasks) >= min(least, sum(counts))
    assert all(length(task) for task in tasks)
    if longest:
        assert max(map(length, tasks)) <= longest


def test_without_wishes_each_queue_is_one_task() -> None:
    assert split(waiting([5, 7]), least=0, longest=0) == waiting([5, 7])
    assert split([], least=4, longest=0) == []


def test_offsets_that_expired_are_named() -> None:
    wanted = [QueueRange("t", "a", 0, 5, 20), QueueRange("t", "a", 1, 0, 3), QueueRange("t", "b", 0, 1, 9)]
    there = {A0: Ends(10, 20), A1: Ends(7, 7), B0: Ends(0, 9)}

    with pytest.raises(DataLost) as failed:
        still_there(wanted, there, fail=True)

    assert "5 to 9 in queue 0 of t on a; 0 to 2 in queue 1 of t on a" in str(failed.value)
    assert "failOnDataLoss=false" in str(failed.value)


def test_without_failing_reading_goes_on_where_messages_are_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted = [QueueRange("t", "a", 0, 5, 20), QueueRange("t", "b", 0, 1, 9)]
    with caplog.at_level(logging.WARNING, "tailfin.spark"):
        found = still_there(wanted, {A0: Ends(10, 15)}, fail=False)

    assert found == [QueueRange("t", "a", 0, 10, 15), QueueRange("t", "b", 0, 1, 9)]
    assert "5 to 9 in queue 0 of t on a; 15 to 19 in queue 0 of t on a" in caplog.text


def test_the_first_batch_says_where_the_stream_began_though_nothing_is_there() -> None:
    start = Position({A0: 3}, initial=True)
    end = advance(start, {A0: Ends(0, 3)}, None, fail=True)

    assert end == Position({A0: 3}, began={A0: 3})
    assert end.to_json() != start.to_json()
    assert between(Position({A0: 7}, initial=True), end, {}) == []


def test_a_first_batch_that_is_planned_again_begins_where_it_did() -> None:
    end = advance(Position({A0: 3}, initial=True), {A0: Ends(0, 9)}, None, fail=True)

    assert between(Position({A0: 9}, initial=True), end, {}) == [QueueRange("t", "a", 0, 3, 9)]


def test_nothing_new_leaves_the_offset_as_it_is() -> None:
    start = Position({A0: 3, A1: 4}, began={A1: 0})
    assert advance(start, {A0: Ends(0, 3), A1: Ends(0, 4)}, None, fail=True) is start


def test_a_queue_that_appears_begins_with_its_first_message() -> None:
    start = Position({A0: 3})
    end = advance(start, {A0: Ends(0, 3), A1: Ends(2, 6)}, None, fail=True)

    assert end == Position({A0: 3, A1: 6}, began={A1: 2})
    assert between(start, end, {}) == [QueueRange("t", "a", 1, 2, 6)]


def test_a_queue_that_is_not_there_now_keeps_its_place() -> None:
    assert advance(Position({A0: 3, B0: 8}), {A0: Ends(0, 5)}, None, fail=True) == Position({A0: 5, B0: 8})


def test_what_expired_takes_no_part_of_a_limit() -> None:
    start = Position({A0: 10, A1: 0})
    end = advance(start, {A0: Ends(50, 90), A1: Ends(7, 7)}, 5, fail=False)

    assert end == Position({A0: 55, A1: 7})
    with pytest.raises(DataLost, match="10 to 49 in queue 0 of t on a; 0 to 6 in queue 1 of t on a"):
        still_there(between(start, end, {}), {A0: Ends(50, 90), A1: Ends(7, 7)}, fail=True)


def test_a_queue_that_goes_back_is_a_loss() -> None:
    start = Position({A0: 10})
    with pytest.raises(DataLost, match="4 to 9 in queue 0 of t on a"):
        advance(start, {A0: Ends(0, 4)}, None, fail=True)

    assert advance(start, {A0: Ends(0, 4)}, None, fail=False) == Position({A0: 4})


def test_an_offset_of_a_checkpoint_is_sorted_and_read_back() -> None:
    position = Position({B0: 2, A1: 1, A0: 0, Queue("a", "z", 10): 5, Queue("a", "z", 9): 4}, began={A1: 0})
    text = json.dumps(position.to_json())

    assert text == (
        '{"a": {"z": {"9": 4, "10": 5}}, "t": {"a": {"0": 0, "1": 1}, "b": {"0": 2}}, '
        '"@began": {"t": {"a": {"1": 0}}}}'
    )
    assert Position.from_json(json.loads(text)) == position
