"""Topics as Arrow tables."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import tailfin
from tailfin.arrow.schema import message_schema
from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.testing import Cluster, cluster

TOPIC = "table"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(brokers=2) as running:
        with tailfin.AdminClient(nameserver=running.namesrv) as admin:
            admin.topics.create(TOPIC, queues=2)
            admin.topics.create("empty", queues=2)
        with tailfin.Producer("writers", nameserver=running.namesrv) as producer:
            queues = producer.queues(TOPIC)
            for number in range(40):
                message = tailfin.Message(TOPIC, b"%d" % number, tags=f"t{number % 2}", keys=str(number))
                producer.send(message, queue=queues[number % len(queues)])
        yield running


def test_a_topic_is_a_table_with_every_message(running: Cluster) -> None:
    table = tailfin.read_table(TOPIC, nameserver=running.namesrv, properties=True)
    assert table.schema == message_schema(properties=True)
    assert sorted(int(body) for body in table["body"].to_pylist()) == list(range(40))
    assert set(table["brokerName"].to_pylist()) == {"broker-a", "broker-b"}
    assert set(table["topic"].to_pylist()) == {TOPIC}
    for row in table.to_pylist():
        number = int(row["body"])
        assert (row["tags"], row["keys"]) == (f"t{number % 2}", str(number))
        assert dict(row["properties"])["UNIQ_KEY"] == row["msgId"]
        assert abs((datetime.now(UTC) - row["storeTimestamp"]).total_seconds()) < 3600


def test_an_empty_topic_is_an_empty_table(running: Cluster) -> None:
    table = tailfin.read_table("empty", nameserver=running.namesrv, columns=["body", "topic"])
    assert (table.num_rows, table.column_names) == (0, ["body", "topic"])


def test_queues_offsets_tags_and_columns_are_chosen(running: Cluster) -> None:
    whole = tailfin.read_table(TOPIC, nameserver=running.namesrv)
    queue = Queue(TOPIC, "broker-a", 1)
    wanted = [
        row["body"]
        for row in whole.to_pylist()
        if (row["brokerName"], row["queueId"]) == queue[1:]
        and 2 <= row["queueOffset"] < 8
        and row["tags"] == "t1"
    ]
    table = tailfin.read_table(
        TOPIC,
        nameserver=running.namesrv,
        queues=[queue],
        start={queue: 2},
        end={queue: 8},
        expression="t1",
        columns=["body"],
    )
    assert table.column_names == ["body"]
    assert table["body"].to_pylist() == wanted


def test_times_begin_and_end_a_table(running: Cluster) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    assert tailfin.read_table(TOPIC, nameserver=running.namesrv, start=long_ago).num_rows == 40
    assert tailfin.read_table(TOPIC, nameserver=running.namesrv, end=long_ago).num_rows == 0


def test_batches_come_one_by_one(running: Cluster) -> None:
    with tailfin.read_batches(TOPIC, nameserver=running.namesrv) as batches:
        assert sum(batch.num_rows for batch in batches) == 40


def test_what_cannot_be_is_refused_with_a_clear_word(running: Cluster) -> None:
    namesrv = running.namesrv
    with pytest.raises(tailfin.NoRoute, match="'nowhere'"):
        tailfin.read_table("nowhere", nameserver=namesrv)
    with pytest.raises(ConfigError, match="'table' has no Queue"):
        tailfin.read_table(TOPIC, nameserver=namesrv, queues=[Queue(TOPIC, "broker-a", 9)])
    with pytest.raises(ConfigError, match='start is "earliest", "latest"'):
        tailfin.read_table(TOPIC, nameserver=namesrv, start="first")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column 'bodi'"):
        tailfin.read_table(TOPIC, nameserver=namesrv, columns=["bodi"])
    with pytest.raises(tailfin.NoNameServer, match="no name server answers"):
        tailfin.read_table(TOPIC, nameserver="127.0.0.1:1", request_timeout=0.5)


def test_without_pyarrow_its_extra_is_named(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install tailfin\[arrow\]"):
        tailfin.read_table(TOPIC, nameserver=running.namesrv)
