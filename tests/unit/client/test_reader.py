"""Readers of the engine against a real broker: they pull ahead, in order, and stop at trouble."""

import gc
import select
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from tailfin._engine import Courier, DamagedMessage, Reader, ReceivedMessage, compress_body
from tailfin.testing import Cluster, cluster, until
from tailfin.wire.bodies.topics import TopicConfig
from tests.unit.client.engines import COURIER

PATIENCE_S = 20.0
GROUP = "readers"
OPTIONS = COURIER | {"max_frame_bytes": 64 << 20}


class Place:
    """A topic of its own for each test, on a broker that they share."""

    def __init__(self, running: Cluster, courier: Courier, topic: str) -> None:
        self.running = running
        self.courier = courier
        self.topic = topic
        running.run(self._make())

    async def _make(self) -> None:
        self.running.broker.topics.put(
            [TopicConfig(topic_name=self.topic, read_queue_nums=4, write_queue_nums=4)]
        )

    def put(self, count: int, *, start: int = 0, queue_id: int = 0) -> None:
        for number in range(start, start + count):
            self.running.broker.store.append(self.topic, b"%d" % number, queue_id)

    def put_one(self, body: bytes, *, tags: str | None = None, sys_flag: int = 0) -> None:
        self.running.broker.store.append(self.topic, body, tags=tags, sys_flag=sys_flag)

    def reader(self, offset: int = 0, *, start: bool = True, **options: object) -> Reader:
        given: dict[str, Any] = {
            "group": GROUP,
            "topic": self.topic,
            "broker": "broker-a",
            "queue_id": 0,
            "offset": offset,
            "send_expression": True,
        }
        reader = Reader(self.courier, self.running.broker.address, **{**given, **options})
        if start:
            reader.resume()
        return reader


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def courier() -> Iterator[Courier]:
    courier = Courier(OPTIONS)
    yield courier
    courier.stop(0)


@pytest.fixture
def place(running: Cluster, courier: Courier, request: pytest.FixtureRequest) -> Place:
    name = request.node.name
    return Place(running, courier, "".join(each if each.isalnum() else "-" for each in name))


def read(reader: Reader, count: int, *, release: bool = True) -> list[ReceivedMessage]:
    """Take so many messages, waiting for them."""
    found: list[ReceivedMessage] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert reader.wait(deadline - time.monotonic()), f"{len(found)} of {count} messages came"
        assert reader.ready or reader.trouble is None, reader.trouble
        found += reader.take(count - len(found), release=release)
    return found


def offsets(messages: list[ReceivedMessage]) -> list[int]:
    return [message.queue_offset for message in messages]


def trouble_of(reader: Reader) -> tuple[int, str, int]:
    found = until(lambda: reader.trouble, PATIENCE_S)
    assert found is not None
    return found


@pytest.mark.shows("PL-16")
def test_messages_come_in_order_over_many_pulls(place: Place) -> None:
    place.put(1000)
    messages = read(place.reader(), 1000)
    assert [message.body for message in messages] == [b"%d" % number for number in range(1000)]
    assert offsets(messages) == list(range(1000))
    assert {message.queue for message in messages} == {(place.topic, "broker-a", 0)}
    assert messages[0].property("MIN_OFFSET") == "0"


def test_a_reader_at_rest_pulls_nothing_until_it_is_resumed(place: Place) -> None:
    place.put(3)
    reader = place.reader(start=False)
    assert (reader.running, reader.ready, reader.offset) == (False, 0, 0)
    reader.resume()
    assert offsets(read(reader, 3)) == [0, 1, 2]
    assert (reader.running, reader.offset, reader.min_offset, reader.max_offset) == (True, 3, 0, 3)
    assert reader.suggested_broker_id == 0


def test_a_pull_that_finds_nothing_is_held_until_something_comes(place: Place) -> None:
    reader = place.reader()
    place.put(1)
    assert offsets(read(reader, 1)) == [0]
    place.put(1, start=1)
    assert offsets(read(reader, 1)) == [1]


@pytest.mark.parametrize("lite", [False, True])
def test_both_requests_that_pull_are_served(place: Place, lite: bool) -> None:
    place.put(2)
    assert offsets(read(place.reader(lite=lite, batch_bytes=100_000), 2)) == [0, 1]


def test_who_does_not_want_to_wait_is_told_of_the_end(place: Place) -> None:
    place.put(40)
    until(lambda: place.running.broker.store.max_offset(place.topic, 0) == 40)
    reader = place.reader(suspend_ms=0)
    until(lambda: reader.ready == 40, PATIENCE_S)
    assert reader.trouble is None, "it shows when what came before was taken"
    assert offsets(reader.take()) == list(range(40))
    assert (trouble_of(reader)[0], reader.offset) == (19, 40)
    place.put(1, start=40)
    until(lambda: place.running.broker.store.max_offset(place.topic, 0) == 41)
    reader.resume()
    assert offsets(read(reader, 1)) == [40]


def test_the_courier_tells_which_readers_have_something(place: Place) -> None:
    readers = [place.reader(queue_id=number) for number in range(4)]
    for number in range(4):
        place.put(100, queue_id=number)
    found: dict[Reader, list[int]] = {reader: [] for reader in readers}
    while any(len(each) < 100 for each in found.values()):
        assert select.select([place.courier], [], [], PATIENCE_S)[0], found
        for reader in place.courier.take():
            found[reader] += offsets(reader.take(7, release=True))
    assert all(each == list(range(100)) for each in found.values())


def test_no_more_is_pulled_than_may_be_held(place: Place) -> None:
    place.put(500)
    reader = place.reader(max_messages=100)
    until(lambda: reader.held[0] >= 100, PATIENCE_S)
    assert reader.ready < 100 + 32
    taken = reader.take(1000)
    assert reader.held == (len(taken), sum(message.size for message in taken))
    assert (reader.ready, reader.offset) == (0, len(taken)), "taken is not released"
    reader.release(len(taken), sum(message.size for message in taken))
    assert offsets(taken + read(reader, 500 - len(taken))) == list(range(500))


def test_no_more_is_pulled_than_bytes_may_be_held(place: Place) -> None:
    place.put(500)
    reader = place.reader(max_bytes=1, batch=10)
    assert offsets(read(reader, 10, release=False)) == list(range(10))
    assert (reader.ready, reader.offset) == (0, 10)


def test_an_offset_beyond_the_queue_is_trouble_that_names_the_right_one(place: Place) -> None:
    place.put(3)
    until(lambda: place.running.broker.store.max_offset(place.topic, 0) == 3)
    reader = place.reader(1000)
    code, remark, next_offset = trouble_of(reader)
    assert (code, next_offset) == (21, 3)
    assert remark
    assert [place.courier.take(), reader.wait(0)] == [[reader], True]
    reader.resume(offset=1)
    assert reader.trouble is None
    assert offsets(read(reader, 2)) == [1, 2]


def test_what_the_broker_refuses_is_trouble(place: Place) -> None:
    assert trouble_of(place.reader(queue_id=99))[0] != 0
    assert trouble_of(place.reader(topic="no-such-topic"))[0] == 17


def test_trouble_is_told_after_the_messages_before_it(place: Place) -> None:
    place.put(3)
    until(lambda: place.running.broker.store.max_offset(place.topic, 0) == 3)
    reader = place.reader(suspend_ms=0)
    seen: list[tuple[int, bool]] = []
    while not seen or not seen[-1][1]:
        assert select.select([place.courier], [], [], PATIENCE_S)[0], seen
        assert place.courier.take() == [reader]
        seen.append((len(reader.take(2)), reader.trouble is not None))
    assert [count for count, _ in seen if count] == [2, 1]


def test_trouble_is_told_once(place: Place) -> None:
    reader = place.reader(topic="no-such-topic")
    trouble_of(reader)
    assert place.courier.take() == [reader]
    assert reader.take() == []
    assert place.courier.take() == []


def test_an_answer_that_does_not_come_is_trouble(place: Place) -> None:
    place.put(1)
    with place.running.faults.drop("pull", times=1):
        reader = place.reader(suspend_ms=100, timeout_ms=300)
        assert trouble_of(reader)[0] == -1006
    reader.resume()
    assert offsets(read(reader, 1)) == [0]


def test_a_server_that_is_not_there_is_trouble(place: Place) -> None:
    reader = place.reader(start=False)
    reader.resume(address="127.0.0.1:1")
    assert trouble_of(reader)[0] == -1004
    place.put(1)
    reader.resume(address=place.running.broker.address)
    assert offsets(read(reader, 1)) == [0]


def test_a_seek_begins_elsewhere_and_drops_what_was_read(place: Place) -> None:
    place.put(100)
    reader = place.reader()
    read(reader, 10)
    reader.seek(95)
    assert offsets(read(reader, 5)) == [95, 96, 97, 98, 99]
    reader.seek(98)
    assert offsets(read(reader, 2)) == [98, 99], "a pull that is held at the end does not matter"


def test_the_answer_to_a_pull_from_before_a_seek_is_ignored(place: Place) -> None:
    place.put(10)
    with place.running.faults.drop("pull", times=1, answers=True) as fault:
        reader = place.reader()
        until(lambda: fault.met == 1, PATIENCE_S)
    reader.seek(5)
    place.put(1, start=10)
    assert offsets(read(reader, 6)) == [5, 6, 7, 8, 9, 10]


@pytest.mark.shows("PL-04")
def test_a_pause_begins_no_more_pulls(place: Place) -> None:
    reader = place.reader()
    reader.pause()
    place.put(2)
    read(reader, 1)
    assert not reader.running
    reader.resume()
    place.put(1, start=2)
    until(lambda: reader.offset == 3, PATIENCE_S)


@pytest.mark.shows("PL-03")
def test_a_closed_reader_gives_nothing_and_ends_who_waits(place: Place) -> None:
    place.put(5)
    reader = place.reader()
    until(lambda: reader.ready == 5, PATIENCE_S)
    reader.close()
    place.put(1, start=5)
    assert (reader.closed, reader.ready, reader.take(), reader.held) == (True, 0, [], (0, 0))
    assert reader.wait(PATIENCE_S) is False
    reader.resume()
    assert not reader.running


def test_a_reader_that_nobody_holds_is_gone(place: Place) -> None:
    place.put(1)
    reader = place.reader()
    assert reader.wait(PATIENCE_S)
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None
    assert place.courier.take() == []


def test_a_stopped_courier_stops_its_readers(place: Place) -> None:
    reader = place.reader()
    place.courier.stop(0)
    code, remark, _ = trouble_of(reader)
    assert (code, "stopped" in remark) == (-1004, True)
    reader.resume()
    assert trouble_of(reader)[0] == -1004


def test_tags_that_share_a_hash_are_told_apart(place: Place) -> None:
    for tags in ("Aa", "BB", "C", "BB", "Aa"):
        place.put_one(b"x", tags=tags)
    reader = place.reader(expression="BB || C", tags=["BB", "C"])
    assert [message.tags for message in read(reader, 3)] == ["BB", "C", "BB"]
    until(lambda: reader.offset == 5, PATIENCE_S)
    assert reader.ready == 0


def test_bodies_of_every_compression_are_read(place: Place) -> None:
    body = b"the same over and over; " * 1000
    for compression in ("zlib", "lz4", "zstd"):
        packed, bits = compress_body(body, compression)
        place.put_one(packed, sys_flag=bits)
    assert [message.body for message in read(place.reader(), 3)] == [body] * 3


def test_a_body_that_cannot_be_read_harms_no_other(place: Place) -> None:
    packed, bits = compress_body(bytes(10 << 20), "zstd")
    place.put_one(packed, sys_flag=bits)
    place.put_one(b"no stream", sys_flag=bits)
    place.put_one(b"plain")
    bomb, garbage, plain = read(place.reader(body_bytes_max=1 << 20), 3)
    with pytest.raises(DamagedMessage, match="message 0 of"):
        bomb.body  # noqa: B018
    with pytest.raises(DamagedMessage, match="message 1 of"):
        garbage.body  # noqa: B018
    assert plain.body == b"plain"


def test_a_reader_goes_on_after_its_broker_was_killed(courier: Courier) -> None:
    with cluster() as running:
        place = Place(running, courier, "T")
        place.put(100)
        reader = place.reader()
        first = read(reader, 100)
        running.faults.kill()
        assert trouble_of(reader)[0] == -1004
        running.faults.restart()
        place.put(50, start=100)
        reader.resume()
        assert offsets(first + read(reader, 50)) == list(range(150))


def test_nonsense_is_refused_when_a_reader_is_made(place: Place) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        place.reader(batch=0)
    with pytest.raises(ValueError, match=r"more than suspend_ms \(15000\), not 15000"):
        place.reader(timeout_ms=15_000)
    with pytest.raises(TypeError):
        place.reader(no_such_option=1)
    with pytest.raises(ValueError, match="no possible time"):
        place.reader().wait(-1)
