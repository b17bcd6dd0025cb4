"""The stream reader as Spark calls it, with a real cluster and without Spark."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows
from pyspark.sql.types import StructType

import tailfin
from tailfin.config.setting import ConfigError
from tailfin.spark.offsets import Position
from tailfin.spark.options import SourceOptions
from tailfin.spark.partition import RangePartition
from tailfin.spark.plain_stream_reader import PlainStreamReader
from tailfin.spark.stream import Following
from tailfin.spark.stream_readers import StreamReader
from tailfin.testing import Cluster, cluster, until
from tailfin.wire.codes import Code
from tests.unit.spark.arriving import readable

BODY = StructType().add("body", "binary")


@pytest.fixture
def running() -> Iterator[Cluster]:
    with cluster(brokers=2) as servers:
        yield servers


def options(servers: Cluster, **given: str) -> SourceOptions:
    given = {"topic": "orders", "startingOffsets": "earliest", **given}
    return SourceOptions.parse({"nameServer": servers.namesrv, "requestTimeoutMs": "2000", **given})


def reader(servers: Cluster, **given: str) -> StreamReader:
    return StreamReader(options(servers, **given), BODY)


def fill(servers: Cluster, count: int, *, topic: str = "orders", body: bytes = b"x" * 100) -> None:
    with (
        tailfin.AdminClient(nameserver=servers.namesrv) as admin,
        tailfin.Producer("shop", nameserver=servers.namesrv) as producer,
    ):
        queues = producer.queues(topic)
        numbers = range(count)
        readable(
            admin,
            (
                producer.send(tailfin.Message(topic, body), queue=queues[each % len(queues)])
                for each in numbers
            ),
        )


def make(servers: Cluster, topic: str = "orders", queues: int = 1) -> None:
    with tailfin.AdminClient(nameserver=servers.namesrv) as admin:
        admin.topics.create(topic, queues=queues)


def read_so_far(offset: dict[str, Any]) -> int:
    return sum(Position.from_json(offset).offsets.values())


def planned(stream: Following, start: dict[str, Any], end: dict[str, Any]) -> int:
    parts = [each.part for each in stream.partitions(start, end) if isinstance(each, RangePartition)]
    return sum(part.end - part.start for part in parts)


def test_available_now_ends_at_what_was_there_though_queues_and_messages_are_added(running: Cluster) -> None:
    make(running)
    fill(running, 10)
    stream = reader(running, maxOffsetsPerTrigger="4")
    start = stream.initialOffset()
    stream.prepareForTriggerAvailableNow()
    fill(running, 6)
    make(running, queues=3)
    fill(running, 6)

    sizes = []
    while (end := stream.latestOffset(start, stream.getDefaultReadLimit())) != start:
        sizes.append(planned(stream, start, end))
        start = end

    assert sizes == [4, 4, 2]
    # The next query finds the rest, from the first message of new queues on.
    again = reader(running)
    end = again.latestOffset(start, ReadAllAvailable())
    assert planned(again, start, end) == 12


def test_rows_and_bytes_limit_together_and_everything_is_everything(running: Cluster) -> None:
    make(running)
    fill(running, 100, body=b"x" * 1000)
    both = reader(running, maxOffsetsPerTrigger="50", maxBytesPerTrigger="20000")
    start = both.initialOffset()

    assert both.getDefaultReadLimit() == ReadMaxRows(50)
    assert 10 <= read_so_far(both.latestOffset(start, ReadMaxRows(50))) <= 20
    assert read_so_far(both.latestOffset(start, ReadMaxRows(5))) == 5
    assert read_so_far(both.latestOffset(start, ReadAllAvailable())) == 100
    by_size = reader(running, maxBytesPerTrigger="20000")
    assert by_size.getDefaultReadLimit() == ReadMaxBytes(20000)
    assert 10 <= read_so_far(by_size.latestOffset(start, ReadMaxBytes(20000))) <= 20
    assert reader(running).getDefaultReadLimit() == ReadAllAvailable()


def test_larger_messages_behind_small_ones_make_a_batch_shorter(running: Cluster) -> None:
    make(running)
    fill(running, 100, body=b"x")
    fill(running, 400, body=os.urandom(10_000))  # which no compression makes small
    stream = reader(running, maxBytesPerTrigger="100000")
    end = stream.latestOffset(stream.initialOffset(), ReadMaxBytes(100_000))
    # By the first messages alone it would be all of the 500, which are 4 MB.
    assert 1 <= read_so_far(end) <= 100


def test_a_broker_that_is_down_holds_its_place_and_nobody_up(running: Cluster) -> None:
    make(running)
    fill(running, 4)
    stream = reader(running)
    start = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    gone, alive = (broker.config.brokerName for broker in running.brokers)
    running.faults.kill(gone)
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        producer.send(tailfin.Message("orders", b"more"), queue=tailfin.Queue("orders", alive, 0))

    until(lambda: stream.latestOffset(start, ReadAllAvailable()) != start)
    end = stream.latestOffset(start, ReadAllAvailable())

    assert end["orders"][gone] == start["orders"][gone]
    assert end["orders"][alive] == {"0": 3}


def test_lag_is_what_a_batch_leaves(running: Cluster) -> None:
    make(running)
    fill(running, 10)
    stream = reader(running)
    start = stream.initialOffset()

    stream.latestOffset(start, ReadMaxRows(6))
    behind = stream.reportLatestOffset()["lag"]
    stream.latestOffset(start, ReadAllAvailable())
    after = stream.reportLatestOffset()["lag"]

    assert behind["messages"] == 4
    assert behind["seconds"] > 0
    assert after == {"messages": 0, "seconds": 0.0}


def test_a_group_that_could_not_be_made_for_one_batch_is_made_for_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with cluster(autoCreateSubscriptionGroup=False) as servers:
        make(servers)
        fill(servers, 3)
        stream = reader(servers, group="progress", requestTimeoutMs="300")
        end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
        with servers.faults.drop(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG):
            stream.commit(end)
        stream.commit(end)

        with tailfin.PullConsumer("progress", nameserver=servers.namesrv) as consumer:
            assert [consumer.committed(queue) for queue in consumer.queues("orders")] == [3]
    assert "whether there is a group progress is not known" in caplog.text


def test_topics_of_a_pattern_are_read_as_they_appear(running: Cluster) -> None:
    stream = StreamReader(
        SourceOptions.parse({"nameServer": running.namesrv, "topicPattern": "late-.*"}), BODY
    )
    start = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    make(running, "late-1")
    fill(running, 3, topic="late-1")

    end = stream.latestOffset(start, ReadAllAvailable())

    assert start == {}
    assert planned(stream, start, end) == 3


def test_without_limits_a_batch_is_all_there_is_and_begins_where_it_began(running: Cluster) -> None:
    make(running)
    fill(running, 4)
    stream = PlainStreamReader(options(running), BODY)
    stream.initialOffset()
    first = stream.latestOffset()
    same = stream.latestOffset()
    fill(running, 2)
    # A restarted query says where it is with its first batch.
    restarted = PlainStreamReader(options(running), BODY)
    end = restarted.latestOffset()

    assert first == same
    assert (read_so_far(first), read_so_far(end)) == (4, 6)
    assert planned(restarted, first, end) == 2
    with pytest.raises(ConfigError, match=r"maxBytesPerTrigger needs PySpark 4\.2 or newer, and this is"):
        PlainStreamReader(options(running, maxBytesPerTrigger="1"), BODY)


def test_a_stream_has_no_end(running: Cluster) -> None:
    with pytest.raises(ConfigError, match="endingOffsets is for batches"):
        reader(running, endingOffsets="latest")
