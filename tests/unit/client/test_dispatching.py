"""Who gets which messages, and what becomes of those that a handler did not consume."""

import threading
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.dispatching import Dispatcher, Failure
from tailfin.client.consuming.handlers import RETRY
from tailfin.client.consuming.reading import Reading
from tailfin.client.consuming.readings import Readings
from tailfin.client.queues import Queue
from tests.unit.loops import in_loop

LONG_AGO = -1000.0


@dataclass(frozen=True)
class At:
    queue_offset: int


class Line:
    """A dispatcher with one queue, and the failures it reported."""

    def __init__(self, *offsets: int) -> None:
        self.guard = threading.Lock()
        self.reported: list[list[Failure]] = []
        self.dispatcher = Dispatcher(
            self.guard,
            orderly=False,
            batch_size=1,
            wake=lambda: None,
            failed=lambda reading, portion, failures: self.reported.append(failures),
        )
        # Of a fast handler: it gets several messages at once.
        self.dispatcher.measured(0.0, 1)
        self.reading = Reading(Queue("T", "broker-a", 0), 0, self.guard)
        self.reading.cached.add([At(offset) for offset in offsets], max(offsets) + 1)
        self.dispatcher.offer(self.reading)

    def next(self) -> Portion:
        found = self.dispatcher.next()
        assert found is not None
        return found[1]

    def begin(self, portion: Portion) -> At:
        message: At = portion.todo.popleft()
        return message

    def fail(self, portion: Portion, message: At) -> None:
        portion.failures.append(([message], RETRY, None))


@in_loop
async def test_what_failed_before_an_overdue_call_is_given_up_with_it() -> None:
    line = Line(0, 1, 2, 3)
    portion = line.next()
    line.fail(portion, line.begin(portion))
    line.begin(portion)
    line.begin(portion)
    portion.started = LONG_AGO
    assert line.dispatcher.give_up_overdue(0.0, 1.0) == [(line.reading, portion)]
    assert [each.queue_offset for each in portion.messages] == [0, 2], "1 is done, 3 was not begun"
    assert [each.queue_offset for each in line.reading.cached.waiting] == [3]
    assert line.reading.cached.commit_offset == 0


@in_loop
async def test_the_outcome_of_an_overdue_call_changes_nothing() -> None:
    line = Line(0, 1)
    portion = line.next()
    line.begin(portion)
    last = line.begin(portion)
    portion.started = LONG_AGO
    line.dispatcher.give_up_overdue(0.0, 1.0)
    line.fail(portion, last)
    line.dispatcher.finished(line.reading, portion)
    assert line.reported == [], "it is handed back already"
    assert [each.queue_offset for each in portion.messages] == [1]
    assert line.reading.cached.commit_offset == 1


@pytest.mark.shows("OR-02")
@in_loop
async def test_an_ordered_queue_stands_in_line_once_and_not_while_a_worker_has_it() -> None:
    guard, woken = threading.Lock(), list[int]()
    dispatcher = Dispatcher(
        guard, orderly=True, batch_size=1, wake=lambda: woken.append(1), failed=lambda *failed: None
    )
    reading = Reading(Queue("T", "b", 0), 0, guard)
    reading.cached.add([At(0), At(1)], 2)
    for _ in range(3):
        dispatcher.offer(reading)
    assert len(woken) == 1
    for offset in range(2):
        found = dispatcher.next()
        assert found is not None
        _, portion = found
        assert portion.todo.popleft() == At(offset)
        dispatcher.offer(reading)
        assert dispatcher.next() is None
        dispatcher.finished(reading, portion)
    assert dispatcher.next() is None
    assert (dispatcher.consumed, len(woken)) == (2, 2)


class Sought:
    """Stands where a queue's reader does, and notes whether workers could take from it while it moved."""

    def __init__(self, guard: threading.Lock) -> None:
        self._guard = guard
        self.moved_guarded: list[bool] = []

    def seek(self, offset: int) -> None:
        self.moved_guarded.append(self._guard.locked())

    def release(self, count: int, size: int) -> None: ...


class Nowhere:
    """Knows nothing of any queue."""

    def known_route(self, topic: str) -> None: ...

    async def of(self, queue: Queue, *, retry: bool, appeared: bool) -> tuple[int, bool]:
        return 0, False


@in_loop
async def test_no_worker_takes_messages_between_the_steps_of_a_seek() -> None:
    guard, queue = threading.Lock(), Queue("T", "broker-a", 0)
    reader = Sought(guard)
    nowhere: Any = Nowhere()
    readings = Readings(
        nowhere,
        read=lambda queue, offset, sink: cast("Any", reader),
        offer=lambda reading: None,
        store=nowhere,
        beginnings=nowhere,
        locks=None,
        guard=guard,
    )
    assert await readings.assign("T", [queue])
    readings.seek(queue, 7)
    assert reader.moved_guarded == [True]
    assert readings.offsets[queue] == 7
