"""A topic read once: what a DataFrame has is what was produced."""

import json
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tailfin
from tailfin.testing import until
from tests.spark.conftest import Broker
from tests.unit.spark.arriving import readable


def bodies(frame: DataFrame) -> list[bytes]:
    return sorted(bytes(row.body) for row in frame.select("body").collect())


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"body %05d" % number for number in range(first, first + count)]


def nested(topic: str, *offsets: int, broker: str = "broker-a") -> str:
    return json.dumps({topic: {broker: {str(index): offset for index, offset in enumerate(offsets)}}})


def test_every_message_is_a_row_with_what_its_broker_says_of_it(broker: Broker) -> None:
    topic = broker.topic(queues=2)
    sent_bodies = numbered(100)
    sent = broker.send(topic, sent_bodies, colour="blue")

    rows = broker.reader(topic=topic, includeProperties=True).load().collect()

    found = {(row.brokerName, row.queueId, row.queueOffset): row for row in rows}
    assert len(found) == len(rows) == 100
    for body, result in zip(sent_bodies, sent, strict=True):
        row = found[result.queue.broker, result.queue.queue_id, result.queue_offset]
        assert bytes(row.body) == body
        assert row.topic == topic
        assert row.msgId == result.message_id
        assert row.offsetMsgId == result.offset_message_id
        assert row.properties["colour"] == "blue"
        assert (row.tags, row.keys, row.reconsumeTimes, row.flag) == (None, None, 0, 0)
        assert abs(row.storeTimestamp - row.bornTimestamp) < timedelta(minutes=1)


def test_topics_are_chosen_by_list_by_pattern_and_by_queue(broker: Broker) -> None:
    one, other = broker.topic(queues=2), broker.topic(queues=1)
    name = broker.send(one, numbered(10))[0].queue.broker
    broker.send(other, numbered(5, first=100))

    both = broker.reader(topic=f"{one}, {other}").load()
    matching = broker.reader(topicPattern=f"{one}|{other}|missing-.*").load()
    assigned = broker.reader(assign=json.dumps({one: {name: [1]}})).load()

    assert bodies(both) == bodies(matching) == numbered(10) + numbered(5, first=100)
    assert bodies(assigned) == numbered(10)[1::2]


def test_offsets_say_where_a_batch_begins_and_ends(broker: Broker) -> None:
    topic = broker.topic(queues=2)
    name = broker.send(topic, numbered(20))[0].queue.broker

    def read(start: str, end: str) -> list[bytes]:
        return bodies(broker.reader(topic=topic, startingOffsets=start, endingOffsets=end).load())

    everything = numbered(20)
    part = read(nested(topic, 3, -2, broker=name), nested(topic, 7, -1, broker=name))
    assert part == sorted(everything[0::2][3:7] + everything[1::2])
    assert read("earliest", nested(topic, 1, 0, broker=name)) == everything[:1]
    assert read("latest", "latest") == []


def test_times_say_where_a_batch_begins_and_ends(broker: Broker) -> None:
    topic = broker.topic(queues=1)
    name = broker.send(topic, numbered(5))[0].queue.broker
    # Brokers know times to the millisecond: the next message must be in a later one.
    stored = max(row.storeTimestamp for row in broker.reader(topic=topic).load().collect())
    split = stored.replace(tzinfo=UTC) + timedelta(milliseconds=1)
    until(lambda: datetime.now(UTC) > split + timedelta(milliseconds=1))
    broker.send(topic, numbered(5, first=5))

    text, number = split.isoformat(), str(int(split.timestamp() * 1000))
    per_queue = json.dumps({topic: {name: {"0": text}}})
    for moment in (text, number, per_queue):
        assert bodies(broker.reader(topic=topic, startingTimestamp=moment).load()) == numbered(5, first=5)
        assert bodies(broker.reader(topic=topic, endingTimestamp=moment).load()) == numbered(5)
    assert bodies(broker.reader(topic=topic, endingTimestamp="2100-01-01").load()) == numbered(10)
    assert bodies(broker.reader(topic=topic, startingTimestamp="2100-01-01").load()) == []


def test_brokers_evaluate_tags_and_sql(broker: Broker) -> None:
    topic = broker.topic(queues=1)
    messages = [
        tailfin.Message(
            topic, b"%d" % number, tags="even" if number % 2 == 0 else "odd", properties={"n": str(number)}
        )
        for number in range(10)
    ]
    readable(broker.admin, map(broker.producer.send, messages))

    tagged = broker.reader(topic=topic, subExpression="even || none").load()
    by_sql = broker.reader(topic=topic, subExpression="n >= 7", expressionType="SQL92").load()

    assert bodies(tagged) == [b"0", b"2", b"4", b"6", b"8"]
    assert bodies(by_sql) == [b"7", b"8", b"9"]


def test_a_long_queue_is_split_among_tasks(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic(queues=1)
    tailfin_broker.send(topic, numbered(100))

    wide = tailfin_broker.reader(topic=topic, minPartitions=4).load()
    short = tailfin_broker.reader(topic=topic, maxRecordsPerPartition=30, pullBatchSize=7).load()

    assert wide.rdd.getNumPartitions() == short.rdd.getNumPartitions() == 4
    assert bodies(wide) == bodies(short) == numbered(100)
    counts = Counter(row.task for row in wide.select(F.spark_partition_id().alias("task")).collect())
    assert sorted(counts.values()) == [25, 25, 25, 25]


def test_a_schema_of_ones_own_takes_only_the_columns_it_names(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, numbered(4))

    frame = tailfin_broker.reader(topic=topic).schema("queueOffset bigint, body binary").load()

    assert frame.columns == ["queueOffset", "body"]
    assert bodies(frame) == numbered(4)


def test_a_topic_is_a_view_of_sql(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, numbered(7))
    spark = tailfin_broker.spark

    spark.sql(
        f"CREATE TEMP VIEW a_view USING rocketmq OPTIONS "
        f"(nameServer '{tailfin_broker.namesrv}', topic '{topic}')"
    )

    assert spark.sql("SELECT count(*) AS n FROM a_view").first() == (7,)


def test_names_have_a_namespace(tailfin_broker: Broker) -> None:
    tailfin_broker.admin.topics.create("shop%orders", queues=1)
    tailfin_broker.send("shop%orders", numbered(3))

    named = tailfin_broker.reader(topic="orders", namespace="shop").load()
    matching = tailfin_broker.reader(topicPattern="ord.*", namespace="shop").load()

    assert bodies(named) == bodies(matching) == numbered(3)
    assert {row.topic for row in named.collect()} == {"orders"}


JSON_BODIES = [b'{"id": 1, "name": "one"}', b'{"id": 2}', b"not json", b'{"id": "3"}', b'{"id": 4}']


def test_bodies_of_json_become_columns(broker: Broker) -> None:
    topic = broker.topic(queues=1)
    broker.send(topic, [b'{"id": %d, "to": {"city": "Kyoto"}}' % number for number in range(50)])

    options = {"topic": topic, "format": "json", "schema": "id bigint, to struct<city:string>, name string"}
    decoded = broker.reader(**options).load()
    as_struct = (
        broker.reader(topic=topic, format="json").schema("queueOffset bigint, body struct<id:int>").load()
    )

    assert "body" not in decoded.columns
    rows = decoded.select("queueOffset", "id", "to.city", "name").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(number, number, "Kyoto", None) for number in range(50)]
    assert sorted(row.id for row in as_struct.select("body.id").collect()) == list(range(50))


def test_bodies_that_cannot_be_decoded_fail_are_dropped_or_sent_away(broker: Broker) -> None:
    topic, letters = broker.topic(queues=1), broker.topic(queues=1)
    name = broker.send(topic, JSON_BODIES)[0].queue.broker
    options = {"topic": topic, "format": "json", "schema": "id bigint, name string"}

    with pytest.raises(PySparkException, match=f"offset 2 in queue 0 of {topic} on {name} is not the json"):
        broker.reader(**options).load().collect()
    dropped = broker.reader(**options, badRecords="drop").load()
    sent = broker.reader(**options, badRecords="dlq", dlqTopic=letters).load()

    assert sorted(row.id for row in dropped.collect()) == [1, 2, 4]
    assert sorted(row.id for row in sent.collect()) == [1, 2, 4]
    found = broker.reader(topic=letters, includeProperties=True).load().orderBy("queueOffset").collect()
    assert [bytes(row.body) for row in found] == [b"not json", b'{"id": "3"}']
    assert found[0].properties["ORIGIN_TOPIC"] == topic
    assert found[0].properties["ORIGIN_QUEUE_OFFSET"] == "2"
    assert found[1].properties["DLQ_REASON"] == "Column(id) changed from number to string"


AVRO_SCHEMA = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}}},
    {"name": "notes", "type": {"type": "map", "values": "string"}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "SENT"]}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "here", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}}]}"""
AVRO_ORDER = bytes([2, 2, 6, *b"one", 2, 2, *b"a", 6, 0, 2, 2, *b"k", 2, *b"v", 0, 2, 2, 2, 2, 2, 125])


def test_bodies_of_avro_become_columns(broker: Broker) -> None:
    topic = broker.topic(queues=1)
    broker.send(topic, [AVRO_ORDER])

    frame = broker.reader(topic=topic, format="avro", schema=AVRO_SCHEMA).load()
    chosen = broker.reader(topic=topic, format="avro", schema=AVRO_SCHEMA)

    (row,) = frame.collect()
    assert "body" not in frame.columns
    assert (row.queueOffset, row.id, row.name, row.state) == (0, 1, "one", "SENT")
    assert (row.lines, row.notes) == ([("a", 3)], {"k": "v"})
    assert (row.day, row.price) == (date(1970, 1, 2), Decimal("1.25"))
    assert row.here == datetime(1970, 1, 1, microsecond=1)
    assert frame.where("at = timestamp'1970-01-01 00:00:00.001Z'").count() == 1
    assert chosen.schema("state string, queueOffset bigint").load().collect() == [("SENT", 0)]
    assert chosen.schema("body struct<id:bigint,name:string>").load().collect() == [((1, "one"),)]


TIME_TYPE = "spark.sql.timeType.enabled"


def test_times_of_a_day_in_avro_are_columns_where_the_session_has_them(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic(queues=1)
    tailfin_broker.send(topic, [b"\x02"])
    clock = '{"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}}'
    schema = f'{{"type": "record", "name": "R", "fields": [{clock}]}}'
    spark = tailfin_broker.spark

    spark.conf.set(TIME_TYPE, "true")
    try:
        frame = tailfin_broker.reader(topic=topic, format="avro", schema=schema).load()
        found = frame.where("clock < time'00:00:01'").select("clock").collect()
    finally:
        spark.conf.unset(TIME_TYPE)

    assert found == [(time(microsecond=1000),)]


NUMBER = '{"type": "record", "name": "Number", "fields": [{"name": "id", "type": "long"}]}'


def test_bodies_that_are_no_avro_fail_are_dropped_or_sent_away(broker: Broker) -> None:
    topic, letters = broker.topic(queues=1), broker.topic(queues=1)
    name = broker.send(topic, [b"\x02", b"\x04", b"\x80", b"\x06\x06", b"\x08"])[0].queue.broker
    options = {"topic": topic, "format": "avro", "schema": NUMBER}

    with pytest.raises(PySparkException, match=f"offset 2 in queue 0 of {topic} on {name} is not the avro"):
        broker.reader(**options).load().collect()
    dropped = broker.reader(**options, badRecords="drop").load()
    sent = broker.reader(**options, badRecords="dlq", dlqTopic=letters).load()

    assert sorted(row.id for row in dropped.collect()) == [1, 2, 4]
    assert sorted(row.id for row in sent.collect()) == [1, 2, 4]
    found = broker.reader(topic=letters, includeProperties=True).load().orderBy("queueOffset").collect()
    assert [bytes(row.body) for row in found] == [b"\x80", b"\x06\x06"]
    assert [row.properties["DLQ_REASON"] for row in found] == [
        "field id: the body ends before it does",
        "1 bytes are left behind the datum",
    ]


PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_filters_are_pushed_when_the_session_allows_it(tailfin_broker: Broker) -> None:
    topic, other = tailfin_broker.topic(queues=2), tailfin_broker.topic(queues=1)
    queues = tailfin_broker.producer.queues(topic)
    for number in range(40):
        message = tailfin.Message(topic, b"%02d" % number, tags=f"t{number % 4}", keys=f"k{number}")
        result = tailfin_broker.producer.send(message, queue=queues[number % 2])
        readable(tailfin_broker.admin, [result])
    tailfin_broker.send(other, [b"99"])
    spark = tailfin_broker.spark

    def answers() -> list[list[bytes]]:
        frame = tailfin_broker.reader(topic=f"{topic},{other}").load()
        # Stored in their order, so the last but one has the time of the filter.
        late = frame.where(f"topic = '{topic}'").agg(F.max("storeTimestamp")).first()
        assert late is not None
        return [
            bodies(frame.where(condition))
            for condition in (
                f"topic = '{topic}' AND queueId = 1 AND queueOffset >= 18",
                f"topic != '{other}' AND tags = 't3' AND keys IN ('k3', 'k7', 'k8')",
                f"topic = '{topic}' AND storeTimestamp >= TIMESTAMP '{late[0]}' AND queueOffset = 19",
                "tags IS NULL",
                "topic = 'nothing'",
            )
        ]

    plain = answers()
    spark.conf.set(PUSHDOWN, "true")
    try:
        pushed = answers()
    finally:
        spark.conf.unset(PUSHDOWN)

    assert plain == pushed
    assert plain[:2] == [[b"37", b"39"], [b"03", b"07"]]
    assert plain[3:] == [[b"99"], []]
