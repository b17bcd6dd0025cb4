"""The engine's readers as Arrow batches, against a real broker."""

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tailfin
from tailfin._engine import ArrowBatch, Courier, Reader, compress_body
from tailfin.arrow.schema import columns
from tailfin.testing import Cluster, cluster, until
from tests.unit.client.engines import courier

TOPIC = "columns"
USUAL = tuple(columns())
ALL = (1000, 1 << 30, USUAL)


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as running:
        with tailfin.AdminClient(nameserver=running.namesrv) as admin:
            admin.topics.create(TOPIC, queues=32)
        yield running


@pytest.fixture(scope="module")
def carrying() -> Iterator[Courier]:
    with courier() as made:
        yield made


class Place:
    """A queue of its own for each test."""

    queues = 0

    def __init__(self, running: Cluster, carrying: Courier) -> None:
        self.running = running
        self.carrying = carrying
        Place.queues += 1
        self.queue_id = Place.queues

    def put(self, count: int, *, tags: str | None = None) -> None:
        for number in range(count):
            self.put_one(b"%d" % number, tags=tags)

    def put_one(self, body: bytes, **given: Any) -> None:  # noqa: ANN401 - the keywords of the store
        store = self.running.broker.store
        placed = store.append(TOPIC, body, self.queue_id, **given)
        until(lambda: store.max_offset(TOPIC, self.queue_id) > placed.queue_offset)

    def reader(
        self,
        offset: int = 0,
        until: int = 1 << 40,
        gather: tuple[int, int, tuple[str, ...]] = ALL,
        **options: object,
    ) -> Reader:
        given: dict[str, Any] = {"send_expression": True, "suspend_ms": 0, "max_messages": 100_000}
        reader = Reader(
            self.carrying,
            self.running.broker.address,
            group="TOOLS_CONSUMER",
            topic=TOPIC,
            broker="broker-a",
            queue_id=self.queue_id,
            offset=offset,
            until=until,
            gather=gather,
            **{**given, **options},
        )
        reader.resume()
        return reader


@pytest.fixture
def place(running: Cluster, carrying: Courier) -> Place:
    return Place(running, carrying)


def rows(found: ArrowBatch | None) -> list[dict[str, Any]]:
    assert found is not None
    rows: list[dict[str, Any]] = pa.record_batch(found).to_pylist()
    return rows


def offsets(found: ArrowBatch | None) -> list[int]:
    return [row["queueOffset"] for row in rows(found)]


def test_many_pulls_become_one_batch(place: Place) -> None:
    place.put(200)
    reader = place.reader(until=200, gather=(150, 1 << 30, USUAL))
    found = reader.collect()
    assert found is not None
    assert len(found) == 150
    assert offsets(found) == list(range(150))
    assert offsets(reader.collect()) == list(range(150, 200))
    assert reader.finished
    assert reader.collect() is None
    assert reader.held == (0, 0)


def test_nothing_from_the_end_on_is_pulled_or_returned(place: Place) -> None:
    place.put(100)
    reader = place.reader(offset=10, until=60)
    assert [row["body"] for row in rows(reader.collect())] == [b"%d" % number for number in range(10, 60)]
    assert reader.offset == 60


def test_who_looks_for_tags_gets_none_from_behind_the_end(place: Place) -> None:
    place.put(50, tags="a")
    place.put(50, tags="b")
    reader = place.reader(until=60, expression="b", tags=["b"])
    assert offsets(reader.collect()) == list(range(50, 60))
    assert reader.finished


def test_a_collect_waits_no_longer_than_it_may_and_returns_what_is_there(place: Place) -> None:
    place.put(3)
    reader = place.reader(until=100, suspend_ms=15_000)
    until(lambda: reader.ready == 3)
    begun = time.monotonic()
    assert offsets(reader.collect(0.2)) == [0, 1, 2]
    assert time.monotonic() - begun < 10
    assert not reader.finished


def test_the_end_of_the_queue_is_told_with_what_came_before_it(place: Place) -> None:
    place.put(3)
    reader = place.reader(until=100)
    assert offsets(reader.collect()) == [0, 1, 2]
    assert reader.collect() is None
    assert reader.trouble is not None
    assert reader.trouble[0] == 19


def test_a_batch_is_full_when_it_has_the_bytes_that_were_asked_for(place: Place) -> None:
    place.put(100)
    reader = place.reader(until=100, gather=(1000, 10 * 130, USUAL))
    batches = []
    while not reader.finished:
        batches.append(offsets(reader.collect()))
    assert all(5 < len(batch) < 20 for batch in batches[:-1])
    assert [offset for batch in batches for offset in batch] == list(range(100))


def test_limits_that_are_reached_end_the_wait(place: Place) -> None:
    place.put(100)
    reader = place.reader(until=100, max_messages=32)
    found: list[int] = []
    while not reader.finished:
        found += offsets(reader.collect())
    assert found == list(range(100))


def test_a_seek_drops_what_was_gathered(place: Place) -> None:
    place.put(10)
    reader = place.reader(until=10)
    until(lambda: reader.ready == 10)
    reader.seek(7)
    assert offsets(reader.collect()) == [7, 8, 9]


def test_properties_are_a_column_for_those_who_ask(place: Place) -> None:
    place.put_one(b"x", tags="t", keys="k1 k2", properties={"city": "Köln"})
    plain, full = (
        place.reader(until=1, gather=(1, 1, tuple(columns(properties=asked)))).collect()
        for asked in (False, True)
    )
    assert "properties" not in rows(plain)[0]
    row = rows(full)[0]
    assert (row["tags"], row["keys"]) == ("t", "k1 k2")
    assert dict(row["properties"]) == {"TAGS": "t", "KEYS": "k1 k2", "city": "Köln"}


def test_only_the_columns_that_were_asked_for_are_built(place: Place) -> None:
    place.put_one(b"x", tags="t")
    assert rows(place.reader(until=1, gather=(1, 1, ("tags", "body"))).collect()) == [
        {"tags": "t", "body": b"x"}
    ]
    with pytest.raises(ValueError, match="there is no column 'tag'"):
        place.reader(gather=(1, 1, ("tag",)))


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
def test_compressed_bodies_are_unpacked(place: Place, compression: str) -> None:
    packed, flag = compress_body(b"hello " * 100, compression)
    place.put_one(packed, sys_flag=flag)
    assert rows(place.reader(until=1).collect())[0]["body"] == b"hello " * 100


def test_a_damaged_message_is_trouble_after_those_before_it_were_returned(place: Place) -> None:
    place.put(2)
    place.put_one(b"no stream at all", sys_flag=1)
    place.put(1)
    reader = place.reader(until=4)
    assert offsets(reader.collect()) == [0, 1]
    assert reader.collect() is None
    assert reader.trouble is not None
    code, remark, offset = reader.trouble
    assert (code, offset) == (-1000, 2)
    assert "message 2 cannot be read: its compressed bytes are damaged" in remark
    reader.resume(offset=3)
    assert offsets(reader.collect()) == [3]
    assert reader.held == (0, 0)


def test_a_batch_outlives_its_reader(place: Place) -> None:
    place.put(3)
    batch = pa.record_batch(place.reader(until=3).collect())
    assert batch.column("body").to_pylist() == [b"0", b"1", b"2"]
