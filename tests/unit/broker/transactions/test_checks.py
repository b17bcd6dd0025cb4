"""Asking producers: who is asked, what they are told, and when a transaction is given up."""

import functools
from pathlib import Path

import pytest

from tailfin.broker.names import CHECK_MAX_TOPIC, HALF_TOPIC
from tailfin.broker.transactions import checking
from tailfin.message import Message
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK
from tests.unit.broker.transactions.acting import (
    AT_ONCE,
    COMMIT,
    ROLLBACK,
    UNKNOWN,
    Producer,
    acting,
    check,
    now_ms,
    open_halves,
)
from tests.unit.loops import in_loop, until


@pytest.mark.shows("TX-07")
@in_loop
async def test_silent_producer_is_asked_with_its_own_message(tmp_path: Path) -> None:
    async with acting(tmp_path, **AT_ONCE) as (broker, producer):
        half = await producer.prepare(body=b"order", born_ms=now_ms() - 1, UNIQ_KEY="U", mine="1")
        await check(broker)
        await until(lambda: producer.asked, "the question")
        (question,) = producer.asked
        fields = question.fields
        assert (fields["msgId"], fields["transactionId"], fields["topic"]) == ("U", "U", HALF_TOPIC)
        assert fields["bname"] == "broker-a"
        assert int(fields["tranStateTableOffset"]) == half.offset + 1, "the copy at the end of the queue"
        message = Message.decode(question.body)
        assert (message.topic, message.queue_id, message.body) == ("Orders", 1, b"order")
        assert message.properties.items() >= {"mine": "1", "TRANSACTION_CHECK_TIMES": "1"}.items()
        assert message.physical_offset == int(fields["commitLogOffset"])
        assert (await producer.answer(question, COMMIT)).code == OK
        (read,) = await producer.ordered()
        assert (read.body, read.unique_key) == (b"order", "U")
        assert read.get_property("TRANSACTION_CHECK_TIMES") == "1"
        assert open_halves(broker) == []


@in_loop
async def test_unknown_is_asked_again_each_round_and_young_halves_are_not(tmp_path: Path) -> None:
    async with acting(tmp_path, transactionTimeOut=60_000) as (broker, producer):
        await producer.prepare(body=b"old", born_ms=now_ms() - 61_000)
        for count in (1, 2, 3):
            await check(broker)
            await until(functools.partial(_were_asked, producer, count), "one question a round")
            copy = Message.decode(producer.asked[-1].body)
            assert copy.get_property("TRANSACTION_CHECK_TIMES") == str(count)
            await producer.end_oneway(producer.asked_half(), UNKNOWN)
        young = await producer.prepare(body=b"young")
        assert (await producer.answer(producer.asked[-1], ROLLBACK)).code == OK
        await check(broker)
        assert open_halves(broker) == [young.offset]
        assert {Message.decode(each.body).body for each in producer.asked} == {b"old"}


@in_loop
async def test_producer_s_own_end_counts_after_it_was_asked_and_the_answer_adds_nothing(
    tmp_path: Path,
) -> None:
    async with acting(tmp_path, **AT_ONCE) as (broker, producer):
        half = await producer.prepare(born_ms=now_ms() - 1)
        await check(broker, rounds=3)
        assert (await producer.end(half, COMMIT)).code == OK
        await until(lambda: len(producer.asked) == 3, "three questions")
        for question in producer.asked:
            assert (await producer.answer(question, COMMIT)).code == OK
        refused = await producer.answer(producer.asked[-1], ROLLBACK)
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert len(await producer.ordered()) == 1
        assert broker.store.max_offset("Orders", 1) == 1
        assert open_halves(broker) == []


@in_loop
async def test_any_live_producer_of_the_group_is_asked_in_turn(tmp_path: Path) -> None:
    async with acting(tmp_path, **AT_ONCE) as (broker, dying):
        for _ in range(8):
            await dying.prepare(born_ms=now_ms() - 1)
        await dying.client.stop()
        others = [Producer(broker.address, client_id=f"c{number}") for number in (2, 3)]
        stranger = Producer(broker.address, client_id="c9", group="others")
        for each in (*others, stranger):
            await each.join()
        await until(lambda: len(broker.clients.producers("makers")) == 2, "the dead one to be noticed")
        await check(broker)
        await until(lambda: sum(len(each.asked) for each in others) == 8, "eight questions")
        assert [len(each.asked) for each in others] == [4, 4]
        assert not stranger.asked
        for each in others:
            for question in each.asked:
                assert (await each.answer(question, COMMIT)).code == OK
        assert len(await others[0].ordered(8)) == 8
        for each in (*others, stranger):
            await each.client.stop()


@in_loop
async def test_half_nobody_answers_for_is_given_up_after_the_last_question(tmp_path: Path) -> None:
    async with acting(tmp_path, transactionCheckMax=2, **AT_ONCE) as (broker, producer):
        half = await producer.prepare(body=b"lost", born_ms=now_ms() - 1, UNIQ_KEY="U")
        await check(broker, rounds=3)
        (lost,) = broker.store.read(CHECK_MAX_TOPIC)
        assert (lost.body, lost.unique_key, lost.queue_id) == (b"lost", "U", 0)
        assert (lost.get_property("REAL_TOPIC"), lost.get_property("TRANSACTION_CHECK_TIMES")) == (
            "Orders",
            "2",
        )
        assert open_halves(broker) == []
        assert broker.transactions.counts.counts() == {"Orders": 0}
        assert (await producer.end(half, COMMIT)).code == ResponseCode.SYSTEM_ERROR
        assert broker.store.max_offset("Orders", 1) == 0


@in_loop
async def test_half_older_than_the_log_keeps_messages_is_given_up_at_once(tmp_path: Path) -> None:
    async with acting(tmp_path, fileReservedTime=1) as (broker, producer):
        await producer.prepare(born_ms=now_ms() - 3_700_000)
        await broker.transactions.checks.round()
        assert len(broker.store.read(CHECK_MAX_TOPIC)) == 1
        assert not producer.asked


@in_loop
async def test_given_up_transaction_can_be_resumed_by_an_operator(tmp_path: Path) -> None:
    async with acting(tmp_path, transactionCheckMax=1, **AT_ONCE) as (broker, producer):
        half = await producer.prepare(born_ms=now_ms() - 1)
        await check(broker, rounds=2)
        (lost,) = broker.store.read(CHECK_MAX_TOPIC)
        for wrong in ("", "nonsense", "7F" * 16, broker.store.read(HALF_TOPIC)[0].message_id):
            refused = await producer.ask(Code.RESUME_CHECK_HALF_MESSAGE, {"msgId": wrong})
            assert (refused.code, HALF_TOPIC in (refused.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        assert (await producer.ask(Code.RESUME_CHECK_HALF_MESSAGE, {"msgId": lost.message_id})).code == OK
        assert len(open_halves(broker)) == 1
        assert broker.transactions.counts.counts() == {"Orders": 1}
        assert (await producer.end(half, COMMIT)).code == OK, "also by the place that the producer knows"
        assert len(await producer.ordered()) == 1


@in_loop
async def test_producer_that_asked_for_time_is_not_asked_before(tmp_path: Path) -> None:
    async with acting(tmp_path, **AT_ONCE) as (broker, producer):
        patient = await producer.prepare(
            body=b"patient", born_ms=now_ms() - 1000, CHECK_IMMUNITY_TIME_IN_SECONDS="3600"
        )
        await producer.prepare(body=b"usual", born_ms=now_ms() - 1000)
        await check(broker)
        await until(lambda: producer.asked, "the usual one's question")
        assert [Message.decode(each.body).body for each in producer.asked] == [b"usual"]
        assert (await producer.end(patient, COMMIT)).code == OK


@in_loop
async def test_immune_half_that_holds_up_the_queue_moves_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "HELD_UP_MAX", 0)
    async with acting(tmp_path, **AT_ONCE) as (broker, producer):
        patient = await producer.prepare(
            body=b"patient", born_ms=now_ms() - 1000, CHECK_IMMUNITY_TIME_IN_SECONDS="3600"
        )
        assert (await producer.end(await producer.prepare(), ROLLBACK)).code == OK
        await check(broker)
        assert broker.transactions.ledger.first == open_halves(broker)[0] == 2
        copy = broker.store.read(HALF_TOPIC, 0, 2)[0]
        assert copy.get_property("TRAN_PREPARED_QUEUE_OFFSET") == "0"
        assert copy.get_property("TRANSACTION_CHECK_TIMES") is None
        assert not producer.asked
        assert (await producer.end(patient, COMMIT)).code == OK
        assert [message.body for message in await producer.ordered()] == [b"patient"]
        assert open_halves(broker) == []


@in_loop
async def test_rounds_come_by_themselves(tmp_path: Path) -> None:
    quick = {"transactionCheckInterval": 20, "transactionTimeOut": 0}
    async with acting(tmp_path, **quick) as (broker, producer):
        await producer.prepare()
        await until(lambda: len(producer.asked) >= 2, "two questions")
        assert (await producer.answer(producer.asked[-1], COMMIT)).code == OK
        assert len(await producer.ordered()) == 1
        assert broker.store.max_offset("Orders", 1) == 1


def _were_asked(producer: Producer, count: int) -> bool:
    return len(producer.asked) == count
