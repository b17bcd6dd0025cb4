"""Topics that are followed: every message once, whatever happens between batches."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import SourceProgress

import tailfin
from tailfin.spark import Lag, LagListener
from tailfin.testing import cluster, until
from tests.spark.conftest import Broker

STEPS_S = 60
_names = count()


class Running:
    """A query that writes to memory, and what it has written."""

    def __init__(
        self,
        frame: DataFrame,
        checkpoint: Path,
        *,
        once: bool = False,
        hold: threading.Event | None = None,
    ) -> None:
        self.name = f"stream_{next(_names)}"
        self.spark = frame.sparkSession
        self._hold = hold
        self.batches: list[int] = []
        self.bodies: list[bytes] = []
        writer = frame.writeStream.foreachBatch(self._take).queryName(self.name)
        writer = writer.option("checkpointLocation", str(checkpoint))
        trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
        self.query = trigger.start()

    def _take(self, frame: DataFrame, batch: int) -> None:
        found = [bytes(row.body) for row in frame.select("body").collect()]
        self.batches.append(len(found))
        self.bodies += found
        if self._hold is not None:
            assert self._hold.wait(STEPS_S)

    def read(self, number: int) -> list[bytes]:
        """Wait for so many messages, and return them."""

        def enough() -> bool:
            if not self.query.isActive and (failed := self.query.exception()):
                raise failed
            return len(self.bodies) >= number

        until(enough, STEPS_S)
        return sorted(self.bodies)

    def progress(self) -> list[SourceProgress]:
        return [each.sources[0] for each in self.query.recentProgress]


@contextmanager
def running(frame: DataFrame, checkpoint: Path) -> Iterator[Running]:
    started = Running(frame, checkpoint)
    try:
        yield started
    finally:
        started.query.stop()


def all_there_is(frame: DataFrame, checkpoint: Path) -> Running:
    started = Running(frame, checkpoint, once=True)
    assert started.query.awaitTermination(STEPS_S)
    return started


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"body %05d" % number for number in range(first, first + count)]


def test_a_query_follows_a_topic_and_goes_on_from_its_checkpoint(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(queues=2)
    broker.send(topic, numbered(10))
    frame = broker.stream(topic=topic, startingOffsets="earliest").load()

    with running(frame, tmp_path) as first:
        assert first.read(10) == numbered(10)
        broker.send(topic, numbered(10, first=10))
        assert first.read(20) == numbered(20)
        first.query.processAllAvailable()
    broker.send(topic, numbered(10, first=20))
    with running(frame, tmp_path) as second:
        assert second.read(10) == numbered(10, first=20)


def test_a_query_that_begins_at_the_end_misses_nothing_once_it_has_begun(
    tailfin_broker: Broker, tmp_path: Path
) -> None:
    topic = tailfin_broker.topic(queues=1)
    tailfin_broker.send(topic, numbered(3))
    frame = tailfin_broker.stream(topic=topic).load()

    first = all_there_is(frame, tmp_path)
    tailfin_broker.send(topic, numbered(3, first=3))
    second = all_there_is(frame, tmp_path)

    assert (first.bodies, sorted(second.bodies)) == ([], numbered(3, first=3))


def test_queues_and_topics_that_appear_while_a_query_runs_are_read(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(queues=1)
    later = f"{topic}-later"
    broker.send(topic, numbered(2))
    frame = broker.stream(topicPattern=f"{topic}.*", startingOffsets="earliest").load()

    with running(frame, tmp_path) as query:
        assert query.read(2) == numbered(2)
        broker.admin.topics.update(topic, queues=3)
        broker.admin.topics.create(later, queues=1)
        name = broker.admin.topics.route(topic)[0].broker
        queue = tailfin.Queue(topic, name, 2)
        # A producer that has not seen the topic yet knows all of its queues.
        with tailfin.Producer("late", nameserver=broker.namesrv) as producer:
            producer.send(tailfin.Message(topic, b"body 00002"), queue=queue)
        broker.send(later, [b"body 00003"])
        assert query.read(4) == numbered(4)


def test_limits_cut_batches_and_available_now_ends_at_what_was_there(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(queues=2)
    broker.send(topic, numbered(50))
    frame = broker.stream(topic=topic, startingOffsets="earliest", maxOffsetsPerTrigger=20).load()

    query = all_there_is(frame, tmp_path)

    assert query.batches == [20, 20, 10]
    assert sorted(query.bodies) == numbered(50)
    ends = [json.loads(each.endOffset) for each in query.progress()]
    assert [sum(ends[-1][topic][name].values()) for name in ends[-1][topic]] == [50]
    assert "@began" in ends[0]


def test_streams_decode_avro_and_fail_at_drop_or_send_away_what_is_none(
    broker: Broker, tmp_path: Path
) -> None:
    topic, letters = broker.topic(queues=1), broker.topic(queues=1)
    broker.send(topic, [b"\x02a", b"\x02", b"\x02b"])
    schema = '{"type": "record", "name": "R", "fields": [{"name": "t", "type": "string"}]}'
    options = {"topic": topic, "startingOffsets": "earliest", "format": "avro", "schema": schema}

    def texts(name: str, **bad_records: str) -> list[bytes]:
        frame = broker.stream(**options, **bad_records).load().selectExpr("binary(t) AS body")
        return sorted(all_there_is(frame, tmp_path / name).bodies)

    with pytest.raises(StreamingQueryException, match=r"offset 1 in queue 0 .* is not the avro"):
        texts("fail")
    assert texts("drop", badRecords="drop") == [b"a", b"b"]
    assert texts("dlq", badRecords="dlq", dlqTopic=letters) == [b"a", b"b"]
    assert [bytes(row.body) for row in broker.reader(topic=letters).load().collect()] == [b"\x02"]


def test_bytes_limit_a_batch_by_what_the_next_messages_weigh(tailfin_broker: Broker, tmp_path: Path) -> None:
    topic = tailfin_broker.topic(queues=1)
    tailfin_broker.send(topic, [b"x" * 1000] * 40)
    frame = tailfin_broker.stream(topic=topic, startingOffsets="earliest", maxBytesPerTrigger=15_000).load()

    query = all_there_is(frame, tmp_path)

    assert sum(query.batches) == 40
    assert len(query.batches) in (3, 4)


def test_progress_tells_lag_in_messages_and_seconds_and_a_listener_hears_it(
    tailfin_broker: Broker, tmp_path: Path
) -> None:
    topic = tailfin_broker.topic(queues=2)
    tailfin_broker.send(topic, numbered(30))
    heard: list[Lag] = []
    listener = LagListener(heard.append)
    streams = tailfin_broker.spark.streams
    streams.addListener(listener)
    try:
        options = {"topic": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20}
        query = all_there_is(tailfin_broker.stream(**options).load(), tmp_path)
        until(lambda: len(heard) >= 2, STEPS_S)
    finally:
        streams.removeListener(listener)

    reported = [json.loads(each.latestOffset) for each in query.progress()]
    assert [each["lag"]["messages"] for each in reported[:2]] == [10, 0]
    assert reported[0]["lag"]["seconds"] > 0
    assert reported[0]["queues"][topic]
    assert [(lag.query, lag.messages) for lag in heard[:2]] == [(query.name, 10), (query.name, 0)]
    assert heard[0].seconds > 0


def test_a_group_shows_the_progress_of_a_query(broker: Broker, tmp_path: Path) -> None:
    topic, group = broker.topic(queues=2), f"lag-{next(_names)}"
    broker.send(topic, numbered(8))
    frame = broker.stream(topic=topic, startingOffsets="earliest", group=group).load()

    with running(frame, tmp_path) as query:
        query.read(8)
        broker.send(topic, numbered(8, first=8))
        query.read(16)

        with tailfin.PullConsumer(group, nameserver=broker.namesrv) as consumer:
            queues = consumer.queues(topic)

            def is_shown() -> bool:
                # Spark tells of a batch's end with the next one. A busy official broker may miss that.
                if broker.make == "official":
                    broker.send(topic, numbered(1))
                return sum(consumer.committed(queue) or 0 for queue in queues) >= 8

            until(is_shown, STEPS_S)


def test_offsets_that_expire_under_a_running_query_are_named_or_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    with cluster(mappedFileSizeCommitLog=1 << 20) as servers:
        with tailfin.AdminClient(nameserver=servers.namesrv) as admin:
            admin.topics.create("expiring", queues=1)
        store = servers.broker.store
        count = 0
        while len(store.log_files()) < 3:
            store.append("expiring", b"body %05d" % count, keys="x" * 10_000)
            count += 1
        options = {"nameServer": servers.namesrv, "topic": "expiring", "startingOffsets": "earliest"}
        stream = spark.readStream.format("rocketmq").options(**options, maxOffsetsPerTrigger="10")

        expired = threading.Event()
        query = Running(stream.load(), tmp_path, hold=expired)
        query.read(10)
        store.delete_first_log_file(even_if_held=True)
        store.delete_expired_queue_files()
        expired.set()

        with pytest.raises(
            StreamingQueryException, match=r"10 to \d+ in queue 0 of expiring on .*failOnDataLoss"
        ):
            query.query.awaitTermination(STEPS_S)
        skipping = stream.option("failOnDataLoss", "false").load()
        rest = sorted(all_there_is(skipping, tmp_path).bodies)
        assert rest
        assert rest == numbered(len(rest), first=count - len(rest))


def test_a_topic_that_was_made_anew_is_a_loss_of_what_stood_in_it(
    tailfin_broker: Broker, tmp_path: Path
) -> None:
    topic = tailfin_broker.topic(queues=1)
    tailfin_broker.send(topic, numbered(5))
    options = {"topic": topic, "startingOffsets": "earliest"}
    all_there_is(tailfin_broker.stream(**options).load(), tmp_path)
    tailfin_broker.admin.topics.delete(topic)
    tailfin_broker.admin.topics.create(topic, queues=1)
    tailfin_broker.send(topic, numbered(2, first=100))

    with pytest.raises(StreamingQueryException, match=f"2 to 4 in queue 0 of {topic}"):
        Running(tailfin_broker.stream(**options).load(), tmp_path, once=True).query.awaitTermination(STEPS_S)
    skipping = tailfin_broker.stream(**options, failOnDataLoss=False).load()
    assert all_there_is(skipping, tmp_path).bodies == []
    tailfin_broker.send(topic, numbered(1, first=102))
    assert all_there_is(skipping, tmp_path).bodies == numbered(1, first=102)
