"""A directory with open transactions goes from one make of broker to the other, by a kill."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tailfin.broker.names import CHECK_MAX_TOPIC, OP_TOPIC
from tailfin.message import Message
from tailfin.wire.codes import Code
from tests.interop.clients import servers
from tests.unit.broker.talking import OK, eventually
from tests.unit.broker.transactions.acting import COMMIT, ROLLBACK, Prepared, Producer, now_ms
from tests.unit.loops import until

T = TypeVar("T")

ASKS_NOBODY = {"transactionCheckInterval": 3_600_000, "transactionOpBatchInterval": 200}
ASKS_AT_ONCE = {"transactionCheckInterval": 300, "transactionTimeOut": 0, "transactionOpBatchInterval": 100}
MINUTE_MS = 60_000


def talk(address: str, work: Callable[[Producer], Awaitable[T]]) -> T:
    async def run() -> T:
        producer = Producer(address)
        try:
            await producer.join()
            return await work(producer)
        finally:
            await producer.client.stop()

    return asyncio.run(run())


async def end_of(producer: Producer, topic: str, queue_id: int = 0) -> int:
    answer = await producer.ask(Code.GET_MAX_OFFSET, {"topic": topic, "queueId": queue_id})
    return int(answer.fields.get("offset", 0))


async def prepare(producer: Producer, *bodies: str) -> list[Prepared]:
    # Of age for whoever asks.
    born = now_ms() - MINUTE_MS
    return [await producer.prepare(body=body.encode(), born_ms=born, UNIQ_KEY=body) for body in bodies]


async def begin(producer: Producer) -> None:
    """Leave transactions in every state behind; what closes the first two is in the log."""
    committed, rolled_back = await prepare(producer, "committed", "rolled back")
    assert (await producer.end(committed, COMMIT)).code == OK
    assert (await producer.end(rolled_back, ROLLBACK)).code == OK

    async def closed() -> bool:
        return await end_of(producer, OP_TOPIC) > 0

    await eventually(closed)
    await prepare(producer, "to be committed", "to be rolled back", "never known")


async def finish(producer: Producer) -> set[str]:
    """Answer what is asked until the first three are over; return whatever was asked about."""
    words = {"to be committed": COMMIT, "just committed": COMMIT, "to be rolled back": ROLLBACK}
    answered = 0

    async def given_up() -> bool:
        nonlocal answered
        for question in producer.asked[answered:]:
            answered += 1
            body = Message.decode(question.body).body.decode()
            if body in words:
                assert (await producer.answer(question, words[body])).code == OK
        return await end_of(producer, CHECK_MAX_TOPIC) == 1

    await eventually(given_up, 30)
    bodies = [message.body.decode() for message in await producer.ordered(2)]
    assert sorted(bodies) == sorted({"committed", "to be committed", *bodies})
    assert await end_of(producer, "Orders", 1) == len(bodies)
    return {Message.decode(question.body).body.decode() for question in producer.asked} | {
        f"read: {body}" for body in bodies
    }


@pytest.mark.shows("TX-07")
def test_open_transactions_of_the_official_broker_are_ended_by_ours(tmp_path: Path) -> None:
    home = tmp_path / "broker"
    with servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv:
        with servers.broker("official", home, namesrv.address, settings=ASKS_NOBODY) as official:

            async def begin_and_commit(producer: Producer) -> None:
                await begin(producer)
                (half,) = await prepare(producer, "just committed")
                assert (await producer.end(half, COMMIT)).code == OK
                # Killed before what closes it is in the log, unless this takes long.

            talk(official.address, begin_and_commit)
        settings = {**ASKS_AT_ONCE, "transactionCheckMax": 3}
        with servers.broker("tailfin", home, namesrv.address, settings=settings) as ours:
            asked = talk(ours.address, finish)
    assert asked == {
        "to be committed",
        "to be rolled back",
        "never known",
        "read: committed",
        "read: to be committed",
        "read: just committed",
    }


@pytest.mark.shows("TX-07")
def test_open_transactions_of_our_broker_are_ended_by_the_official_one(tmp_path: Path) -> None:
    home = tmp_path / "broker"
    with servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv:
        often = {**ASKS_AT_ONCE, "transactionCheckMax": 100_000}
        topics = home / "store" / "config" / "topics.json"
        with servers.broker("tailfin", home, namesrv.address, settings=often) as ours:

            async def begin_and_be_asked(producer: Producer) -> None:
                await begin(producer)
                await until(lambda: len(producer.asked) >= 6, "each to be put back twice")
                # A topic is in the journal at once, and a moment later in the file that both makes read.
                await until(
                    lambda: topics.exists() and "Orders" in topics.read_text(), "the topic to be in the file"
                )

            talk(ours.address, begin_and_be_asked)
        settings = {**ASKS_AT_ONCE, "transactionCheckMax": 12}
        with servers.broker("official", home, namesrv.address, settings=settings) as official:
            asked = talk(official.address, finish)
    assert asked == {
        "to be committed",
        "to be rolled back",
        "never known",
        "read: committed",
        "read: to be committed",
    }
