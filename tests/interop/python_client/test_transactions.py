"""Transactions: of the Python client to itself and to Java, and of Java to the Python client."""

import asyncio
from collections.abc import Iterator

import pytest

import tailfin
from tailfin import Transaction
from tests.crash.waiting import wait_until
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.scenario_checks import assert_same
from tests.interop.python_client import puppets, scenes
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import Style


@pytest.fixture(params=["blocking", "asyncio"])
def style(request: pytest.FixtureRequest, asking: Cluster, loop: asyncio.AbstractEventLoop) -> Style:
    return Style(request.param, asking.namesrv, loop)


@pytest.fixture(scope="module")
def java(asking: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Puppet]:
    with puppets.running("5.5.0", asking.namesrv, tmp_path_factory.mktemp("puppet")) as puppet:
        yield puppet


@pytest.fixture
def topic(asking: Cluster) -> str:
    name = fresh("transactions")
    with tailfin.AdminClient(nameserver=asking.namesrv, request_timeout=20.0) as admin:
        admin.topics.create(name, queues=2)
    return name


def test_a_transaction_counts_when_its_block_ends_well(style: Style, java: Puppet, topic: str) -> None:
    group, asked = fresh("producers"), list[str]()

    def check(message: tailfin.ReceivedMessage) -> Transaction:
        asked.append(message.message_id)
        # By its key: official brokers forget the flag of a half that they ask about again.
        return Transaction.COMMIT if message.keys == ["key-3"] else Transaction.ROLLBACK

    messages = scenes.messages(topic, 5)
    ledger = Ledger()
    with (
        java.consumer("concurrent", fresh("group"), topic) as name,
        style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"),
        style.producer(group, check=check, heartbeat_interval=1.0) as producer,
    ):
        with producer.transaction(messages[0]) as committed:
            pass
        with pytest.raises(ValueError, match="no stock"), producer.transaction(messages[1]):
            raise ValueError("no stock")
        with producer.transaction(messages[2]) as dropped:
            dropped.rollback()
        open_ids = []
        for message in messages[3:]:
            with producer.transaction(message) as left:
                left.leave_open()
            open_ids.append(left.message_id)
        wait_until(lambda: set(asked) >= set(open_ids), "the broker's questions", scenes.PATIENCE_S)
        wanted = [sent(messages[0]), sent(messages[3])]
        assert_same(ledger.wait(2), wanted)
        assert_same(java.wait_received(name, 2), wanted)
    ids = {each.keys[0]: each.transaction_id for each in ledger.messages}
    assert ids == {"key-0": committed.message_id, "key-3": open_ids[0]}


def test_java_transactions_arrive(style: Style, java: Puppet, topic: str) -> None:
    messages = java.send("transaction", topic, 9)
    wanted = [each for number, each in enumerate(messages) if number % 3 != 1]
    ledger = Ledger()
    with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"):
        assert_same(ledger.wait(6), wanted)
