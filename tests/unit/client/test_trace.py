"""The trace: records as RocketMQ's tools read them, and how they get to the trace topic."""

import pytest

from tailfin import Message, aio
from tailfin.client import trace_records as records
from tailfin.client.trace_records import ConsumeCode, Kind, Traced
from tailfin.testing import cluster
from tests.unit.client.reading import stored
from tests.unit.loops import in_loop, until

MESSAGE = Traced(
    topic="T",
    message_id="ID",
    tags="a",
    keys="k1 k2",
    store_host="1.2.3.4:10911",
    offset_message_id="OFF",
    body_length=9,
    kind=Kind.DELAYED,
)


def fields(record: records.Record) -> list[str]:
    assert record.text.endswith("\x02")
    return record.text[:-1].split("\x01")


def test_a_send() -> None:
    record = records.published(
        MESSAGE, at_ms=7, region="R", group="G", cost_ms=3, success=True, client="10.0.0.1"
    )
    expected = "Pub 7 R G T ID a k1_k2 1.2.3.4:10911 9 3 3 OFF true 10.0.0.1"
    assert [each.replace(" ", "_") for each in fields(record)] == expected.split()
    assert record.keys == ("ID", "k1", "k2")


def test_a_message_given_to_a_handler() -> None:
    record = records.before_consuming(MESSAGE, at_ms=7, region="R", group="G", request_id="Q", retries=2)
    assert fields(record) == ["SubBefore", "7", "R", "G", "Q", "ID", "2", "k1 k2"]


def test_a_handler_that_ended() -> None:
    record = records.after_consuming(
        MESSAGE, at_ms=7, group="G", request_id="Q", cost_ms=5, success=False, code=ConsumeCode.EXCEPTION
    )
    assert fields(record) == ["SubAfter", "Q", "ID", "5", "false", "k1 k2", "2", "7", "G"]


def test_the_end_of_a_transaction() -> None:
    record = records.transaction_ended(
        MESSAGE,
        at_ms=7,
        region="R",
        group="G",
        transaction_id="X",
        state="COMMIT_MESSAGE",
        from_check=True,
    )
    expected = ["EndTransaction", "7", "R", "G", "T", "ID", "a", "k1 k2", "1.2.3.4:10911", "2", "X"]
    assert fields(record) == [*expected, "COMMIT_MESSAGE", "true"]


def test_a_recall() -> None:
    record = records.recalled(MESSAGE, at_ms=7, region="R", group="G", success=True)
    assert fields(record) == ["Recall", "7", "R", "G", "T", "ID", "true"]


def test_records_are_packed_up_to_a_limit_with_their_keys_once() -> None:
    some = [
        records.Record("x" * 40, ("a", "b")),
        records.Record("y" * 40, ("b",)),
        records.Record("z" * 40, ("c",)),
    ]
    assert records.pack(some, 80) == [(b"x" * 40 + b"y" * 40, ("a", "b")), (b"z" * 40, ("c",))]
    assert records.pack([], 80) == []


@pytest.mark.shows("TX-05")
def test_sends_are_traced_by_the_time_of_the_stop() -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=node.namesrv, trace=True) as producer:
            sent = await producer.send(Message("orders", b"paid", tags="t", keys="42"))
            async with producer.transaction(Message("orders", b"x")):
                pass
        await until(lambda: stored(node, "RMQ_SYS_TRACE_TOPIC"), "the trace")
        (trace,) = stored(node, "RMQ_SYS_TRACE_TOPIC")
        lines = [line.split("\x01") for line in trace.body.decode().split("\x02")[:-1]]
        assert [line[0] for line in lines] == ["Pub", "Pub", "EndTransaction"]
        assert lines[0][3:6] == ["shop", "orders", sent.message_id]
        assert lines[0][8] == node.broker.address
        assert lines[0][11:14] == ["0", sent.offset_message_id, "true"]
        assert lines[1][11] == "1"
        assert lines[2][11] == "COMMIT_MESSAGE"
        assert {sent.message_id, "42"} <= set((trace.keys or "").split())

    with cluster(traceTopicEnable=True) as node:
        check()
