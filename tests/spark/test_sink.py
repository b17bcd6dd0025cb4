"""DataFrames written to topics by real Spark."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import tailfin
from tailfin.testing import until
from tests.spark.conftest import Broker
from tests.spark.sinking import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write(broker: Broker, rows: "DataFrame", **options: str) -> None:
    rows.write.format("rocketmq").options(nameServer=broker.namesrv, **options).mode("append").save()


def read(broker: Broker, topic: str, least: int) -> list[tailfin.ReceivedMessage]:
    """Return the messages of a topic once there are so many."""
    until(lambda: len(list(broker.admin.messages.read(topic))) >= least)
    return sorted(broker.admin.messages.read(topic), key=lambda each: each.body)


def refusal(broker: Broker, rows: "DataFrame", **options: str) -> str:
    with pytest.raises(PySparkException) as refused:
        write(broker, rows, **options)
    return str(refused.value)


def test_every_column_is_written(broker: Broker) -> None:
    topic, other = broker.topic(), broker.topic()
    rows = broker.spark.createDataFrame(
        [
            (b"a", None, "paid", "1 2", {"color": "red"}, None, 1),
            (b"b", None, None, None, None, "key", None),
            (b"c", other, "sent", None, {}, None, None),
        ],
        "body binary, topic string, tags string, keys string, properties map<string,string>, "
        "shardingKey string, queueId int",
    )
    write(broker, rows, topic=topic)
    first, second = read(broker, topic, 2)
    assert (first.body, first.tags, first.keys, first.queue_id) == (b"a", "paid", ["1", "2"], 1)
    assert first.property("color") == "red"
    assert (second.body, second.tags, second.property("__SHARDINGKEY")) == (b"b", None, "key")
    assert [(each.body, each.tags) for each in read(broker, other, 1)] == [(b"c", "sent")]


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_what_is_read_can_be_written(broker: Broker, guarantee: str) -> None:
    source, copy = broker.topic(), broker.topic()
    broker.send(source, [f"row {number}".encode() for number in range(300)], color="red")
    rows = broker.reader(topic=source, includeProperties=True, minPartitions=4).load()
    write(broker, rows.select("body", "tags", "keys", "properties"), topic=copy, deliveryGuarantee=guarantee)
    found = read(broker, copy, 300)
    assert Counter(each.body for each in found) == Counter(each.body for each in read(broker, source, 300))
    assert {each.property("color") for each in found} == {"red"}


def test_a_copy_keeps_what_users_said_and_loses_how_the_first_was_carried(tailfin_broker: Broker) -> None:
    half, copy, plain = (tailfin_broker.topic() for _ in range(3))
    rows = tailfin_broker.spark.sql(
        "SELECT 'a' AS body, 'paid' AS tags, '1 2' AS keys, map('color', 'red') AS properties"
    )
    write(tailfin_broker, rows, topic=half, deliveryGuarantee="exactly-once")
    stored = tailfin_broker.reader(topic=half, includeProperties=True).load()
    write(tailfin_broker, stored.select("body", "properties"), topic=copy)
    write(tailfin_broker, rows, topic=plain)

    (first,), (copied,), (never_half,) = (read(tailfin_broker, topic, 1) for topic in (half, copy, plain))
    assert (copied.tags, copied.keys, copied.property("color")) == ("paid", ["1", "2"], "red")
    assert first.properties.keys() > copied.properties.keys()
    assert copied.properties.keys() == never_half.properties.keys()
    assert copied.message_id != first.message_id


def test_a_column_counts_more_than_a_property_of_its_name(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic()
    properties = "map('TAGS', 'old', 'KEYS', 'old', '__SHARDINGKEY', 'old') AS properties"
    rows = tailfin_broker.spark.sql(f"SELECT 'a' AS body, 'new' AS Tags, 'new' AS shardingKey, {properties}")
    write(tailfin_broker, rows, topic=topic)
    (found,) = read(tailfin_broker, topic, 1)
    assert (found.tags, found.keys, found.property("__SHARDINGKEY")) == ("new", ["old"], "new")


def test_rows_wait_for_their_time(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic()
    rows = tailfin_broker.spark.sql(
        "SELECT 'level' AS body, 18 AS delayLevel, CAST(NULL AS timestamp) AS deliverAt "
        "UNION ALL SELECT 'time', NULL, current_timestamp() + INTERVAL 1 HOUR "
        "UNION ALL SELECT 'now', NULL, NULL"
    )
    write(tailfin_broker, rows, topic=topic)
    assert [each.body for each in read(tailfin_broker, topic, 1)] == [b"now"]


def test_a_write_with_a_name_is_made_once(broker: Broker) -> None:
    topic = broker.topic()
    rows = broker.spark.range(100).selectExpr("CAST(id AS string) AS body")
    once = {"deliveryGuarantee": "exactly-once", "topic": topic}
    for _ in range(2):
        write(broker, rows, writeId=f"monday-{topic}", **once)
    assert visible(broker.namesrv, topic, 100) == Counter(str(number) for number in range(100))
    write(broker, rows.limit(10), **once)
    assert visible(broker.namesrv, topic, 110).total() == 110


def test_a_write_that_fails_leaves_nothing_to_read(broker: Broker) -> None:
    topic = broker.topic()
    rows = broker.spark.range(0, 500, 1, 2).selectExpr("IF(id = 499, '', CAST(id AS string)) AS body")
    text = refusal(broker, rows, topic=topic, deliveryGuarantee="exactly-once")
    assert "the message body length is zero" in text
    assert not visible(broker.namesrv, topic)


def test_a_stream_writes_every_row_once_and_goes_on_after_a_restart(broker: Broker, tmp_path: Path) -> None:
    source, copy = broker.topic(), broker.topic()
    bodies = [f"row {number}".encode() for number in range(300)]
    for stretch in (bodies[:200], bodies[200:]):
        broker.send(source, stretch)
        rows = broker.stream(topic=source, startingOffsets="earliest", maxOffsetsPerTrigger=90).load()
        query = (
            rows.select("body")
            .writeStream.format("rocketmq")
            .options(nameServer=broker.namesrv, topic=copy, deliveryGuarantee="exactly-once")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        assert query.exception() is None
    assert visible(broker.namesrv, copy, 300) == Counter(body.decode() for body in bodies)


def test_what_cannot_be_written_is_said_in_a_sentence_before_anything_runs(tailfin_broker: Broker) -> None:
    spark = tailfin_broker.spark
    body = spark.sql("SELECT 'a' AS body")
    cases = [
        (
            spark.sql("SELECT 'a' AS bdy"),
            {"topic": "T"},
            "a message has no column 'bdy': did you mean 'body'?",
        ),
        (
            spark.sql("SELECT 1 AS body"),
            {"topic": "T"},
            "column 'body' is string or binary, not int: cast it",
        ),
        (body, {}, "nothing says where rows go: give the option 'topic', or a column 'topic'"),
        (body, {"topik": "T"}, "there is no option 'topik': did you mean 'topic'?"),
        (body, {"topic": "T", "deliveryGuarantee": "maybe"}, "at-least-once, exactly-once"),
    ]
    for rows, options, sentence in cases:
        assert sentence in refusal(tailfin_broker, rows, **options)


def test_a_name_server_that_is_not_there_is_named(tailfin_broker: Broker) -> None:
    rows = tailfin_broker.spark.sql("SELECT 'a' AS body")
    with pytest.raises(PySparkException) as refused:
        rows.write.format("rocketmq").options(nameServer="127.0.0.1:1", topic="T").mode("append").save()
    assert "no name server answers (tried 127.0.0.1:1)" in str(refused.value)
