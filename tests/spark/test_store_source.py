"""Store files as DataFrames, with no broker running: what was written is what Spark counts."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tailfin.arrow.schema import columns
from tailfin.store import Store, StoreConfig
from tests.interop import official
from tests.interop.corpus import LONG_RETRY_TOPIC, TOPICS
from tests.interop.official import Line

MESSAGES = 3000


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of Tailfin's, closed."""
    path = tmp_path_factory.mktemp("written") / "store"
    with Store(path, StoreConfig(mappedFileSizeCommitLog=1 << 20)) as store:
        for number in range(MESSAGES):
            store.append(
                "orders" if number % 2 else "bills",
                b"%d" % number,
                number % 4,
                tags=f"t{number % 3}",
                keys=f"k{number}",
                properties={"n": str(number), "filling": "x" * 500},
                born_host="10.0.0.9:5",
                flag=number,
            )
        store.append("SCHEDULE_TOPIC_XXXX", b"later")
    return path


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Line]]:
    """A store that the official code wrote, and what it said of each message."""
    root = tmp_path_factory.mktemp("java")
    acks = official.write(root / "store", root / "acks", "--count", "2000", "--schedule", "20")
    return root / "store", acks


def load(spark: SparkSession, *paths: Path, **options: str) -> DataFrame:
    reader = spark.read.format("rocketmq-store").options(**options)
    return reader.load(str(paths[0]) if len(paths) == 1 else [str(path) for path in paths])


def test_every_message_and_every_column_is_there(spark: SparkSession, written: Path) -> None:
    frame = load(spark, written, splitBytes="300000", includeProperties="true", brokerName="broker-a")
    assert frame.columns == list(columns(properties=True))
    rows = {int(row.body): row for row in frame.collect()}
    assert sorted(rows) == list(range(MESSAGES))
    for number in (0, 1, 1234, MESSAGES - 1):
        row = rows[number]
        assert (row.topic, row.brokerName) == ("orders" if number % 2 else "bills", "broker-a")
        assert (row.queueId, row.flag, row.bornHost) == (number % 4, number, "10.0.0.9:5")
        assert (row.tags, row.keys, row.msgId) == (f"t{number % 3}", f"k{number}", row.offsetMsgId)
        assert row.properties["n"] == str(number)
    per_queue = Counter((row.topic, row.queueId) for row in rows.values())
    offsets = {(row.topic, row.queueId, row.queueOffset) for row in rows.values()}
    expected = {(*queue, at) for queue, count in per_queue.items() for at in range(count)}
    assert offsets == expected


def test_topics_and_several_directories_are_chosen(
    spark: SparkSession, written: Path, tmp_path: Path
) -> None:
    assert load(spark, written, topic="orders").where("queueId = 1").count() == MESSAGES // 4
    assert load(spark, written).where("topic = 'SCHEDULE_TOPIC_XXXX'").count() == 0
    assert load(spark, written, systemTopics="true").count() == MESSAGES + 1
    other = shutil.copytree(written, tmp_path / "other")
    assert load(spark, written, other).count() == 2 * MESSAGES


def test_a_view_in_sql_reads_store_files(spark: SparkSession, written: Path) -> None:
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW stored USING `rocketmq-store` OPTIONS (path '{written}', topic 'bills')"
    )
    found = spark.sql("SELECT tags, count(*) AS count FROM stored GROUP BY tags").collect()
    assert {row.tags: row["count"] for row in found} == {f"t{tag}": MESSAGES // 6 for tag in range(3)}


def test_a_store_that_java_wrote_is_read_in_full(spark: SparkSession, java: tuple[Path, list[Line]]) -> None:
    path, acks = java
    rows = load(spark, path, splitBytes="1000000", systemTopics="true").collect()
    found = Counter((row.topic, row.queueId, row.queueOffset, row.offsetMsgId) for row in rows)
    said = Counter((ack["topic"], ack["queueId"], ack["queueOffset"], ack["offsetMsgId"]) for ack in acks)
    assert found == said
    assert {row.topic for row in rows} <= {*TOPICS, LONG_RETRY_TOPIC, "SCHEDULE_TOPIC_XXXX"}
    consumable = sum(not ack["sysFlag"] & 12 or ack["sysFlag"] & 12 == 8 for ack in acks)
    assert load(spark, path).count() == consumable - 20


def test_trouble_is_told_in_one_sentence(spark: SparkSession, written: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(written, tmp_path / "damaged")
    first = damaged / "commitlog" / f"{0:020}"
    data = bytearray(first.read_bytes())
    data[data.index(b"k500")] ^= 0xFF
    data[600_000:] = b""
    first.write_bytes(data)
    with pytest.raises(Exception, match=r"the commit log is damaged at .*onDamage=skip reads on behind it"):
        load(spark, damaged).count()
    assert 0 < load(spark, damaged, onDamage="skip").count() < MESSAGES
    with pytest.raises(Exception, match="holds no store"):
        load(spark, tmp_path).count()
    with pytest.raises(Exception, match="no option 'topicc': did you mean 'topic'"):
        load(spark, written, topicc="orders")
    with pytest.raises(Exception, match="a message has no column 'bodi', only topic, brokerName"):
        spark.read.format("rocketmq-store").schema("bodi binary").load(str(written)).count()
    with pytest.raises(Exception, match="column body is binary, not string; cast it in a query"):
        spark.read.format("rocketmq-store").schema("body string").load(str(written)).count()


def test_only_the_columns_of_a_schema_are_read_in_its_order(spark: SparkSession, written: Path) -> None:
    frame = spark.read.format("rocketmq-store").schema("keys string, body binary").load(str(written))
    rows = frame.collect()
    assert len(rows) == MESSAGES
    assert {(row.keys, bytes(row.body)) for row in rows} == {
        (f"k{number}", b"%d" % number) for number in range(MESSAGES)
    }
