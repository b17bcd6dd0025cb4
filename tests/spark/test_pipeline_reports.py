"""Dead letters, traces, a store and lag, as the ready-made pipelines report them."""

from pathlib import Path

import pytest

import tailfin
from tailfin.store import Store
from tailfin.testing import until
from tests.spark.conftest import Broker
from tests.spark.pipelines import Tailfin


@pytest.fixture
def pipeline(tailfin_broker: Broker, capsys: pytest.CaptureFixture[str]) -> Tailfin:
    return Tailfin(capsys, tailfin_broker.namesrv)


def test_traces_become_latencies_and_paths_and_say_why_letters_died(
    tailfin_broker: Broker, pipeline: Tailfin
) -> None:
    broker, topic = tailfin_broker, tailfin_broker.topic()
    assert pipeline.run("dlq") == "no dead letters\n"
    consumed: list[str] = []

    def handle(message: tailfin.ReceivedMessage) -> None:
        if message.body == b"bad":
            raise ValueError("bad")
        consumed.append(message.message_id)

    with tailfin.Producer("shop", nameserver=broker.namesrv, trace=True) as producer:
        good = producer.send(tailfin.Message(topic, b"good", tags="t", keys="k"))
        bad = producer.send(tailfin.Message(topic, b"bad", tags="t", keys="k"))
        with tailfin.PushConsumer(
            "billing",
            nameserver=broker.namesrv,
            subscribe={topic: "*"},
            handler=handle,
            consume_from="first",
            max_reconsume_times=0,
            trace=True,
        ):
            until(lambda: consumed and broker.admin.dead_letters.groups().get("billing"), timeout=60)

    found = pipeline.json("trace")
    (sends,) = [each for each in found["sends"] if each["topic"] == topic]
    assert (sends["producer"], sends["messages"], sends["failed"]) == ("shop", 2, 0)
    assert 0 <= sends["cost"]["p50"] <= sends["cost"]["max"]
    (path,) = [each for each in found["paths"] if each["topic"] == topic]
    assert (path["producer"], path["consumer"]) == ("shop", "billing")
    assert (path["messages"], path["failed"], path["retried"]) == (2, 1, 0)
    assert path["delay"]["p50"] <= path["delay"]["p99"]
    assert f"shop > {topic} > billing" in pipeline.run("trace")
    events = pipeline.json("trace", "--message", bad.message_id)
    assert [(each["what"], each["who"], each["ok"], each["outcome"]) for each in events] == [
        ("sent", "shop", True, None),
        ("consumed", "billing", False, "EXCEPTION"),
    ]
    assert "EXCEPTION" in pipeline.run("trace", "--message", bad.message_id)
    assert pipeline.run("trace", "--message", "none", code=1) == "no trace of message none\n"
    assert good.message_id in consumed

    (failing,) = pipeline.json("dlq", "--group", "billing")["failing"]
    assert (failing["group"], failing["topic"], failing["letters"]) == ("billing", topic, 1)
    assert failing["reason"] == "the handler raised an exception"
    (sample,) = failing["samples"]
    assert (sample["message_id"], sample["body"], sample["keys"]) == (bad.message_id, "bad", "k")
    # Without a trace it is only known how often it was tried.
    (failing,) = pipeline.json("dlq", "--trace-topic", "none")["failing"]
    assert failing["reason"] == "given up after attempt 1"
    assert pipeline.json("dlq", "--reason", "too long") == {"failing": [], "sent": 0}
    assert "--resend needs --group" in pipeline.run("dlq", "--resend", code=2)

    done = pipeline.run("dlq", "--group", "billing", "--reason", "exception", "--resend")
    assert done.endswith("\n1 dead letters sent again\n")
    (again,) = broker.admin.messages.read("%RETRY%billing")
    assert again.message_id == bad.message_id


def test_a_store_is_audited(pipeline: Tailfin, tmp_path: Path) -> None:
    with Store(tmp_path / "store", mappedFileSizeCommitLog=64 << 10) as store:
        for number in range(20):
            store.append("orders", b"%d" % number, number % 2, keys="k")

    out = pipeline.run("audit", tmp_path / "store")
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["orders", "0", "10", "0", "9", "0", "0", "0", "0"]
    assert out.endswith(": no damage\n")

    log = next((tmp_path / "store/commitlog").iterdir())
    data = bytearray(log.read_bytes())
    fourth = [place for place in range(len(data)) if data.startswith(b"orders", place)][3]
    data[fourth - 2] ^= 0xFF  # the body of the fourth message
    log.write_bytes(data)

    found = pipeline.json("audit", tmp_path / "store", code=1)
    audits = {(each["topic"], each["queue_id"]): each for each in found["queues"]}
    assert (audits["orders", 0]["missing"], audits["orders", 1]["missing"]) == (0, 1)
    assert audits["orders", 1]["gaps"] == [[1, 1]]
    assert found["damaged"] >= 1
    assert "missing in orders/1: 1\n" in pipeline.run("audit", tmp_path / "store", code=1)


def test_numbers_that_are_taken_twice_or_out_of_order_are_counted(tailfin_broker: Broker) -> None:
    from tailfin.pipeline import audit

    stored = [(0, 5), (1, 6), (2, 6), (3, 9), (4, 8)]  # place in the log, number in the queue
    values = ", ".join(f"('{place:032X}', {number}L, 'id{number}')" for place, number in stored)
    frame = tailfin_broker.spark.sql(
        "select 't' as topic, 0 as queueId, 0 as sysFlag, * "
        f"from values {values} as v(offsetMsgId, queueOffset, msgId)"
    )
    (found,) = audit.queues(tailfin_broker.spark, frame)
    assert (found.records, found.first, found.last) == (5, 5, 9)
    assert (found.missing, found.duplicated, found.out_of_order, found.same_id) == (1, 1, 1, 2)
    assert found.gaps == ((7, 7),)


def test_lag_is_noted_and_shown(tailfin_broker: Broker, pipeline: Tailfin, tmp_path: Path) -> None:
    broker, topic, root = tailfin_broker, tailfin_broker.topic(queues=1), tmp_path / "lag"
    broker.send(topic, [b"a", b"b", b"c"])
    broker.admin.groups.create("slow")
    broker.admin.offsets.reset("slow", topic, "first")

    (noted,) = pipeline.json("lag", "--to", root, "--group", "slow")
    assert (noted["group"], noted["topic"], noted["lag"]) == ("slow", topic, 3)
    broker.send(topic, [b"d"])
    assert "1 groups and topics, 4 messages behind" in pipeline.run("lag", "--to", root, "--group", "slow")

    (trend,) = pipeline.json("lag", "--to", root, "--show")
    assert (trend["samples"], trend["first"], trend["last"]) == (2, 3, 4)
    assert pipeline.run("lag", "--to", root, "--show").splitlines()[1].split()[:5] == [
        "slow",
        topic,
        "2",
        "3",
        "4",
    ]
    samples = pipeline.run("lag", "--to", root, "--show", "--samples", "--group", "slow").splitlines()
    assert len(samples) == 3
    assert broker.spark.read.parquet(str(root)).count() == 2
    assert "holds no history of lag" in pipeline.run("lag", "--to", tmp_path / "none", "--show", code=2)
