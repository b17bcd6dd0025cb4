"""Parts of queues, read through a real cluster that does not always behave."""

import logging
import os
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import tailfin
from tailfin.arrow.ranges import QueueRange, RangeReader
from tailfin.testing import Cluster, cluster, until

TOPIC = "parts"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(enablePropertyFilter=True) as running:
        yield running


@pytest.fixture(scope="module")
def reader(running: Cluster) -> Iterator[RangeReader]:
    with RangeReader(nameserver=running.namesrv) as reader:
        yield reader


@pytest.fixture(scope="module")
def stocked(running: Cluster, reader: RangeReader) -> QueueRange:
    """5,000 messages in queue 0, every third with another tag."""
    with tailfin.AdminClient(nameserver=running.namesrv) as admin:
        admin.topics.create(TOPIC, queues=2)
    for number in range(5000):
        running.broker.store.append(
            TOPIC, b"%d" % number, tags="a" if number % 3 else "b", properties={"n": str(number % 10)}
        )
    until(lambda: running.broker.store.max_offset(TOPIC, 0) == 5000)
    queue = reader.queues(TOPIC)[0]
    return QueueRange(*queue, reader.first_offset(queue), reader.end_offset(queue))


def bodies(reader: RangeReader, part: QueueRange, **options: object) -> list[int]:
    given: dict[str, Any] = {**options}
    return [int(body) for batch in reader.read(part, **given) for body in batch.column("body").to_pylist()]


def test_queues_and_their_ends_are_told(reader: RangeReader, stocked: QueueRange) -> None:
    assert [queue.queue_id for queue in reader.queues(TOPIC)] == [0, 1]
    assert (stocked.start, stocked.end) == (0, 5000)
    empty = reader.queues(TOPIC)[1]
    assert (reader.first_offset(empty), reader.end_offset(empty)) == (0, 0)


@pytest.mark.parametrize("batch_rows", [7, 1000, 10_000])
def test_a_range_is_read_in_order_and_in_full(
    reader: RangeReader, stocked: QueueRange, batch_rows: int
) -> None:
    assert bodies(reader, stocked, batch_rows=batch_rows) == list(range(5000))
    middle = QueueRange(*stocked.queue, 1234, 2345)
    assert bodies(reader, middle, batch_rows=batch_rows) == list(range(1234, 2345))


def test_an_empty_range_asks_nobody(reader: RangeReader, stocked: QueueRange) -> None:
    assert bodies(reader, QueueRange(*stocked.queue, 7, 7)) == []


def test_the_broker_judges_tags_and_sql(reader: RangeReader, stocked: QueueRange) -> None:
    part = QueueRange(*stocked.queue, 10, 3000)
    assert bodies(reader, part, expression="b") == [n for n in range(10, 3000) if n % 3 == 0]
    assert bodies(reader, part, expression="a || b") == list(range(10, 3000))
    assert bodies(reader, part, expression="n = '4'", sql=True) == [n for n in range(10, 3000) if n % 10 == 4]


def test_a_reader_that_is_left_early_stops_pulling(reader: RangeReader, stocked: QueueRange) -> None:
    batches = reader.read(stocked, batch_rows=10)
    assert next(batches).num_rows == 10
    batches.close()  # type: ignore[attr-defined]
    assert len(bodies(reader, stocked)) == 5000


def test_pulls_that_are_lost_are_made_again(running: Cluster, stocked: QueueRange) -> None:
    with (
        RangeReader(nameserver=running.namesrv) as reader,
        running.faults.slow(0.3, "pull", times=2),
    ):
        assert bodies(reader, stocked, pull_timeout=0.2, batch_rows=100)[:3] == [0, 1, 2]


def test_a_broker_that_stays_silent_is_given_up_with_a_clear_word(
    running: Cluster, reader: RangeReader, stocked: QueueRange
) -> None:
    with (
        running.faults.drop("pull"),
        pytest.raises(
            tailfin.ReadFailed, match=r"parts queue 0 on broker-a \(.*\) cannot be read: .*gave up after"
        ),
    ):
        bodies(reader, stocked, pull_timeout=0.2)


def test_an_expression_that_cannot_be_read_is_refused_at_once(
    reader: RangeReader, stocked: QueueRange
) -> None:
    with pytest.raises(tailfin.ReadFailed, match="cannot be read"):
        bodies(reader, stocked, expression="n = = 4", sql=True)


def test_a_range_behind_the_end_of_the_queue_is_lost(
    reader: RangeReader, stocked: QueueRange, caplog: pytest.LogCaptureFixture
) -> None:
    part = QueueRange(*stocked.queue, 4990, 5010)
    with pytest.raises(tailfin.DataLost, match=r"offsets 5000 to 5009: the queue ends at 5000 now") as caught:
        bodies(reader, part)
    assert "parts queue 0 on broker-a, offsets 5000 to 5009" in caught.value.lost
    with caplog.at_level(logging.WARNING):
        assert bodies(reader, part, on_loss="skip") == list(range(4990, 5000))
    assert "offsets 5000 to 5009" in caplog.text


def test_a_topic_that_does_not_exist_is_named(reader: RangeReader) -> None:
    with pytest.raises(tailfin.NoRoute, match="'nowhere'"):
        reader.queues("nowhere")


def test_unknown_options_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match="did you mean 'nameserver'"):
        RangeReader(nameservr="127.0.0.1:1")  # type: ignore[call-arg]


def test_ranges_travel() -> None:
    part = QueueRange("T", "b", 3, 4, 5)
    assert pickle.loads(pickle.dumps(part)) == part
    assert str(part) == "T queue 3 on b, offsets 4 to 4"


def test_a_process_has_one_reader_for_the_same_options_and_a_forked_child_its_own(
    running: Cluster, stocked: QueueRange
) -> None:
    mine = RangeReader.of(nameserver=running.namesrv)
    assert RangeReader.of(nameserver=[running.namesrv]) is mine
    assert RangeReader.of(nameserver=running.namesrv, request_timeout=7.0) is not mine
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            other = RangeReader.of(nameserver=running.namesrv)
            answer = b"%d %d" % (other is mine, len(bodies(other, stocked)))
        except BaseException as error:
            answer = repr(error).encode()
        os.write(write_end, answer)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answers:
        assert answers.read() == b"0 5000"
    os.waitpid(child, 0)


def test_messages_that_expired_are_lost_or_skipped_with_their_offsets_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        cluster(mappedFileSizeCommitLog=1 << 20) as running,
        RangeReader(nameserver=running.namesrv) as reader,
        tailfin.AdminClient(nameserver=running.namesrv) as admin,
    ):
        admin.topics.create("expiring", queues=1)
        store = running.broker.store
        count = 0
        while len(store.log_files()) < 3:
            store.append("expiring", b"%d" % count, keys="x" * 10_000)
            count += 1
        until(lambda: store.max_offset("expiring", 0) == count)
        (queue,) = reader.queues("expiring")
        part = QueueRange(*queue, 0, count)
        store.delete_first_log_file(even_if_held=True)
        store.delete_expired_queue_files()
        first = reader.first_offset(queue)
        assert 0 < first < count
        with pytest.raises(
            tailfin.DataLost, match=f"offsets 0 to {first - 1}: the queue begins at {first} now"
        ):
            bodies(reader, part)
        with caplog.at_level(logging.WARNING):
            assert bodies(reader, part, on_loss="skip") == list(range(first, count))
        assert f"offsets 0 to {first - 1}" in caplog.text
