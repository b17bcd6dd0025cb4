"""Transactions, with a real broker."""

from collections.abc import Iterator

import pytest

import tailfin
from tailfin import Message, Transaction, aio
from tailfin.client.hooks import EndingTransaction, Hook
from tailfin.testing import Cluster, cluster
from tests.unit.client.reading import bodies
from tests.unit.loops import in_loop, until


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(transactionTimeOut=1, transactionCheckInterval=100) as node:
        yield node


async def none_open(running: Cluster) -> None:
    await until(lambda: running.open_transactions() == 0, "the end of all transactions")


class Ends(Hook):
    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []

    def end_transaction(self, ending: EndingTransaction) -> None:
        self.seen.append((ending.state, ending.from_check))


@pytest.mark.shows("TX-01")
def test_a_message_counts_when_its_block_has_ended(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        hook = Ends()
        async with aio.Producer("payers", nameserver=running.namesrv, hooks=[hook]) as producer:
            async with producer.transaction(Message("paid", b"1")) as transaction:
                assert transaction.message_id
                assert bodies(running, "paid") == []
            await until(lambda: bodies(running, "paid") == [b"1"], "the committed message")
        assert hook.seen == [("COMMIT", False)]

    check()


def test_an_exception_drops_the_message_and_goes_on(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("payers", nameserver=running.namesrv) as producer:
            with pytest.raises(LookupError, match="no money"):
                async with producer.transaction(Message("dropped", b"1")):
                    raise LookupError("no money")
            async with producer.transaction(Message("dropped", b"2")) as transaction:
                transaction.rollback()
            async with producer.transaction(Message("dropped", b"3")):
                pass
            await until(lambda: bodies(running, "dropped") == [b"3"], "the only one that was committed")
            await none_open(running)

    check()


@pytest.mark.parametrize("is_async", [True, False])
def test_a_broker_asks_for_a_transaction_that_was_left_open(running: Cluster, is_async: bool) -> None:
    topic = f"open-{is_async}"
    asked: list[bytes] = []

    def answer(message: tailfin.ReceivedMessage) -> Transaction:
        asked.append(message.body)
        return Transaction.COMMIT if message.body == b"good" else Transaction.ROLLBACK

    async def answer_later(message: tailfin.ReceivedMessage) -> Transaction:
        return answer(message)

    @in_loop
    async def check() -> None:
        hook = Ends()
        async with aio.Producer(
            "askable",
            nameserver=running.namesrv,
            check=answer_later if is_async else answer,
            hooks=[hook],
        ) as producer:
            for body in (b"good", b"bad"):
                async with producer.transaction(Message(topic, body)) as transaction:
                    transaction.leave_open()
            await until(lambda: bodies(running, topic) == [b"good"], "the message that was committed")
            await none_open(running)
        assert set(asked) == {b"good", b"bad"}
        assert {("COMMIT", True), ("ROLLBACK", True)} <= set(hook.seen)

    check()


def test_a_check_that_fails_is_asked_again(running: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([LookupError("database is away"), None, Transaction.UNKNOWN, Transaction.COMMIT])

    def answer(message: tailfin.ReceivedMessage) -> object:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    @in_loop
    async def check() -> None:
        async with aio.Producer("patient", nameserver=running.namesrv, check=answer) as producer:
            async with producer.transaction(Message("patience", b"x")) as transaction:
                transaction.leave_open()
            await until(lambda: bodies(running, "patience") == [b"x"], "the commit after all", 20)

    check()
    assert "database is away" in caplog.text
    assert "`check` returned None" in caplog.text


def test_a_producer_without_check_says_what_to_do(running: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("silent", nameserver=running.namesrv) as producer:
            async with producer.transaction(Message("silence", b"x")) as transaction:
                transaction.leave_open()
            await until(lambda: "pass check=function" in caplog.text, "the advice")
            await producer.end_transaction(transaction)
            transaction.rollback()
            await producer.end_transaction(transaction)
            await none_open(running)

    check()


def test_a_blocking_transaction_commits_and_rolls_back(running: Cluster) -> None:
    with tailfin.Producer("payers", nameserver=running.namesrv) as producer:
        with producer.transaction(Message("blocking", b"1")):
            pass
        with pytest.raises(LookupError), producer.transaction(Message("blocking", b"2")):
            raise LookupError
        with producer.transaction(Message("blocking", b"3")):
            pass
    tailfin.testing.until(lambda: bodies(running, "blocking") == [b"1", b"3"])
