"""Stops and kills in every state of a transaction, and directories that RocketMQ left."""

from pathlib import Path

import pytest

from tailfin.broker.names import CHECK_MAX_TOPIC, OP_TOPIC
from tailfin.store import Store
from tailfin.wire import fastjson
from tests.unit.broker.talking import OK
from tests.unit.broker.transactions.acting import (
    AT_ONCE,
    COMMIT,
    ROLLBACK,
    acting,
    check,
    killed,
    now_ms,
    open_halves,
)
from tests.unit.loops import in_loop, until

STOP, KILL = "stop", "kill"
BOTH = pytest.mark.parametrize("end", [STOP, KILL])


@BOTH
@in_loop
async def test_every_state_survives(tmp_path: Path, end: str) -> None:
    data = tmp_path / "one"
    async with acting(data, transactionCheckMax=2, **AT_ONCE) as (broker, producer):
        committed = await producer.prepare(body=b"committed")
        rolled_back = await producer.prepare(body=b"rolled back")
        assert (await producer.end(committed, COMMIT)).code == OK
        assert (await producer.end(rolled_back, ROLLBACK)).code == OK
        given_up = await producer.prepare(body=b"given up", born_ms=now_ms() - 1)
        await check(broker, rounds=3)
        asked = await producer.prepare(body=b"asked", born_ms=now_ms() - 1)
        await check(broker)
        fresh = await producer.prepare(body=b"fresh")
        await until(lambda: len(producer.asked) == 3, "three questions")
        question = producer.asked[-1]
        before = open_halves(broker)
        if end == KILL:
            data = killed(data, tmp_path / "two")
    async with acting(data, transactionCheckMax=2) as (broker, producer):
        assert open_halves(broker) == before
        assert broker.transactions.counts.counts() == {"Orders": 2}
        for half in (committed, rolled_back, given_up):
            wrong = ROLLBACK if half is committed else COMMIT
            assert (await producer.end(half, wrong)).code != OK
        assert (await producer.end(asked, COMMIT)).code == OK, "by the place the producer knows"
        assert (await producer.answer(question, COMMIT)).code == OK
        assert (await producer.end(fresh, COMMIT)).code == OK
        bodies = [message.body for message in await producer.ordered(3)]
        assert bodies == [b"committed", b"asked", b"fresh"]
        assert broker.store.max_offset("Orders", 1) == 3
        assert broker.store.max_offset(CHECK_MAX_TOPIC, 0) == 1


@BOTH
@in_loop
async def test_what_was_put_back_is_asked_about_once_after_a_restart(tmp_path: Path, end: str) -> None:
    data = tmp_path / "one"
    async with acting(data, **AT_ONCE) as (broker, producer):
        for number in range(20):
            await producer.prepare(body=b"%d" % number, born_ms=now_ms() - 1)
        await check(broker, rounds=2)
        if end == KILL:
            data = killed(data, tmp_path / "two")
    async with acting(data, **AT_ONCE) as (broker, producer):
        await check(broker)
        await until(lambda: len(producer.asked) == 20, "a question for each")
        for question in producer.asked:
            assert (await producer.answer(question, COMMIT)).code == OK
        assert len({message.body for message in await producer.ordered(20)}) == 20
        assert broker.store.max_offset("Orders", 1) == 20
        assert open_halves(broker) == []


@in_loop
async def test_lost_offsets_cost_reading_and_nothing_else(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        for how in (COMMIT, ROLLBACK, COMMIT):
            assert (await producer.end(await producer.prepare(), how)).code == OK
        left = await producer.prepare()
        folder = broker.config_folder
    for name in ("consumerOffset.json", "consumerOffset.json.bak"):
        (folder / name).unlink(missing_ok=True)
    async with acting(tmp_path) as (broker, producer):
        assert open_halves(broker) == [left.offset]
        assert (await producer.end(left, COMMIT)).code == OK
        assert broker.store.max_offset("Orders", 1) == 3


@in_loop
async def test_offsets_beyond_the_queues_are_brought_back_into_them(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        await producer.end(await producer.prepare(), ROLLBACK)
        file = broker.config_folder / "consumerOffset.json"
    text = file.read_text()
    assert text.count("0:1\n") == 2
    file.write_text(text.replace("0:1\n", "0:1000\n"))
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        assert open_halves(broker) == [half.offset]
        assert (await producer.end(half, COMMIT)).code == OK


@in_loop
async def test_op_records_of_both_formats_are_understood(tmp_path: Path) -> None:
    """Before 5.0 each closed one half, and its body had no comma."""
    async with acting(tmp_path) as (broker, producer):
        for _ in range(8):
            await producer.prepare()
        for body, tags in ((b"3", "d"), (b"0,1,", "d"), (b"5", "x"), (b"no number", "d"), (b"6,", None)):
            broker.store.append(OP_TOPIC, body, tags=tags)
    async with acting(tmp_path) as (broker, _):
        assert open_halves(broker) == [2, 4, 5, 6, 7]
        assert broker.transactions.ledger.first == 2


@pytest.mark.parametrize("by", ["asking", "producer"])
@in_loop
async def test_message_whose_op_record_rocketmq_lost_is_not_doubled(tmp_path: Path, by: str) -> None:
    """RocketMQ writes op records seconds after the messages: a kill between leaves the half as if open."""
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare(UNIQ_KEY="U", born_ms=now_ms() - 1)
        _commit_as_rocketmq(broker.store, half.place)
    async with acting(tmp_path, **AT_ONCE) as (broker, producer):
        assert open_halves(broker) == [half.offset]
        if by == "asking":
            await broker.transactions.checks.round()
            assert not producer.asked
        else:
            assert (await producer.end(half, ROLLBACK)).code != OK
            assert (await producer.end(half, COMMIT)).code == OK
        assert open_halves(broker) == []
        assert broker.store.max_offset("Orders", 1) == 1
        assert broker.transactions.counts.counts() == {"Orders": 0}


def _commit_as_rocketmq(store: Store, place: int) -> None:
    half = store.message_at(place)
    assert half is not None
    properties = half.properties
    topic, queue_id = properties.pop("REAL_TOPIC"), int(properties.pop("REAL_QID"))
    store.append(
        topic,
        half.body,
        queue_id,
        properties=properties,
        sys_flag=8,
        born_timestamp=half.born_timestamp,
        born_host=half.born_host,
        prepared_offset=place,
    )


@in_loop
async def test_open_transactions_are_counted_by_topic_in_rocketmq_s_file(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        file = broker.config_folder / "transactionMetrics"
        for topic in ("Orders", "Orders", "Bills"):
            half = await producer.prepare(topic)
        await producer.end(half, ROLLBACK)
    content = fastjson.loads(file.read_bytes())
    assert isinstance(content, dict)
    counts = {topic: each["count"] for topic, each in content["transactionCount"].items()}
    assert counts == {"Bills": 0, "Orders": 2}
    assert content["dataVersion"]["counter"] > 0
    file.write_text("no JSON")
    file.with_name("transactionMetrics.bak").unlink(missing_ok=True)
    async with acting(tmp_path) as (broker, _):
        assert broker.transactions.counts.counts() == {"Orders": 2}
