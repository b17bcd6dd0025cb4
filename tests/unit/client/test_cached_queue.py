"""What is held of a queue, and what may be committed: never beyond a message that is not done."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailfin.client.consuming.cached import CachedQueue, Portion


@dataclass(frozen=True)
class At:
    queue_offset: int


def messages(*offsets: int) -> list[At]:
    return [At(offset) for offset in offsets]


def filled(*offsets: int, read_to: int) -> CachedQueue:
    queue = CachedQueue(0)
    queue.add(messages(*offsets), read_to)
    return queue


def taken(queue: CachedQueue, limit: int) -> Portion:
    portion = queue.take(limit)
    assert portion is not None
    return portion


@pytest.mark.shows("OF-03", "PC-11", "PC-07", "PC-08")
def test_the_smallest_message_that_is_not_done_is_committed() -> None:
    queue = filled(3, 5, 8, read_to=10)
    assert queue.commit_offset == 3
    first, second = taken(queue, 1), taken(queue, 1)
    queue.settle(second, [])
    assert queue.commit_offset == 3
    queue.settle(first, [])
    assert queue.commit_offset == 8
    queue.settle(taken(queue, 9), [])
    assert queue.commit_offset == 10
    assert (queue.count, queue.busy) == (0, False)


@pytest.mark.shows("PC-08")
def test_what_does_not_match_is_passed_over() -> None:
    queue = CachedQueue(4)
    queue.add([], 90)
    assert (queue.commit_offset, queue.span) == (90, 0)


def test_failed_messages_stay_outstanding_until_they_have_found_their_way() -> None:
    queue = filled(0, 1, 2, 3, read_to=4)
    portion = taken(queue, 4)
    assert queue.settle(portion, messages(1, 3)) == messages(0, 2)
    assert (queue.commit_offset, queue.count) == (1, 2)
    assert queue.settle(portion, []) == messages(1, 3)
    assert queue.commit_offset == 4


@pytest.mark.shows("PC-08")
def test_unread_messages_go_back_to_the_front_in_order() -> None:
    queue = filled(0, 1, 2, 3, 4, read_to=5)
    portion = taken(queue, 4)
    queue.give_back(portion, messages(2, 3))
    assert list(queue.waiting) == messages(2, 3, 4)
    assert portion.messages == messages(0, 1)
    queue.give_back(portion, messages(0, 1))
    assert not queue.busy
    assert list(queue.waiting) == messages(0, 1, 2, 3, 4)


@pytest.mark.shows("PC-07")
def test_portions_that_come_back_out_of_turn_wait_in_the_order_of_the_queue() -> None:
    queue = filled(0, 1, 2, 3, read_to=4)
    first, second = taken(queue, 1), taken(queue, 2)
    queue.give_back(first, messages(0))
    queue.give_back(second, messages(1, 2))
    assert list(queue.waiting) == messages(0, 1, 2, 3)
    assert queue.commit_offset == 0


def test_what_waits_is_left_to_the_next_reader() -> None:
    queue = filled(0, 1, 2, 3, read_to=9)
    portion = taken(queue, 2)
    assert queue.clear() == messages(2, 3)
    queue.settle(portion, [])
    assert queue.commit_offset == 2


def test_after_a_restart_the_outcome_of_old_portions_no_longer_counts() -> None:
    queue = filled(0, 1, 2, read_to=3)
    portion = taken(queue, 1)
    assert len(queue.restart(100)) == 3
    assert not queue.has(portion)
    assert queue.settle(portion, []) == []
    queue.give_back(portion, messages(0))
    assert (queue.commit_offset, queue.count) == (100, 0)


@pytest.mark.shows("PC-07", "PL-03")
def test_a_dropped_queue_hands_out_nothing() -> None:
    queue = filled(0, read_to=1)
    queue.dropped = True
    assert queue.take(1) is None


def test_a_portion_is_overtaken_once_messages_behind_it_were_handed_out() -> None:
    queue = filled(0, 1, 2, 3, read_to=4)
    first = taken(queue, 2)
    assert not queue.was_overtaken(first)
    second = taken(queue, 1)
    assert queue.was_overtaken(first)
    assert not queue.was_overtaken(second)
    queue.settle(second, [])
    assert queue.was_overtaken(first)
    queue.settle(first, [])
    assert not queue.was_overtaken(first)


def test_what_comes_back_after_a_clear_does_not_hide_what_was_cleared() -> None:
    queue = filled(0, 1, read_to=2)
    first, second = taken(queue, 1), taken(queue, 1)
    queue.give_back(first, messages(0))
    queue.dropped = True
    queue.clear()
    queue.give_back(second, messages(1))
    assert queue.commit_offset == 0


@pytest.mark.parametrize("at_once", [False, True])
def test_what_is_being_worked_on_can_be_taken_back(at_once: bool) -> None:
    portion = taken(filled(0, 1, 2, read_to=3), 3)
    if at_once:
        assert portion.show_all() == messages(0, 1, 2)
    else:
        one_by_one = portion.show()
        assert [next(one_by_one), next(one_by_one)] == messages(0, 1)
    portion.take_back()
    assert list(portion.todo) == messages(*([0, 1, 2] if at_once else [1, 2]))


@given(st.lists(st.sampled_from(["take", "done", "fail", "back", "add", "clear"]), max_size=60), st.data())
def test_nothing_is_committed_before_it_is_done_and_nothing_is_lost(
    steps: list[str], data: st.DataObject
) -> None:
    queue = CachedQueue(0)
    end, done, out = 0, set[int](), list[Portion]()
    committed = 0
    for step in steps:
        if step == "add" and not queue.dropped:
            count = data.draw(st.integers(0, 5))
            queue.add(messages(*range(end, end + count)), end + count)
            end += count
        elif step == "take" and (portion := queue.take(data.draw(st.integers(1, 4)))):
            out.append(portion)
        elif step == "clear":
            queue.dropped = True
            queue.clear()
            end = queue.read_to
        elif step in ("done", "back", "fail") and out:
            portion = out.pop(data.draw(st.integers(0, len(out) - 1)))
            if step == "done":
                done |= {message.queue_offset for message in queue.settle(portion, [])}
            elif step == "back":
                queue.give_back(portion, portion.messages)
            else:
                kept = data.draw(st.lists(st.sampled_from(portion.messages), unique=True))
                kept.sort(key=lambda message: message.queue_offset)
                done |= {message.queue_offset for message in queue.settle(portion, kept)}
                if kept:
                    out.append(portion)
        assert done >= set(range(queue.commit_offset))
        assert queue.commit_offset >= committed
        committed = queue.commit_offset
        held = {message.queue_offset for message in queue.waiting}
        held |= {message.queue_offset for portion in out for message in portion.messages}
        assert held | done >= set(range(end))
        assert queue.count == len(held)
