"""The client with the official servers and the official client of generation 4."""

import asyncio
from collections.abc import Iterator

import pytest

import tailfin
from tests.interop.clients import clusters
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_same
from tests.interop.python_client import puppets, scenes
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import Style


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with clusters.uniform("official-4", tmp_path_factory.mktemp("old"), clusters.ASKS_EARLY) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def java(old: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Puppet]:
    with puppets.running("4.9.8", old.namesrv, tmp_path_factory.mktemp("puppet")) as puppet:
        yield puppet


@pytest.fixture(params=["blocking", "asyncio"])
def style(request: pytest.FixtureRequest, old: Cluster, loop: asyncio.AbstractEventLoop) -> Style:
    return Style(request.param, old.namesrv, loop)


@pytest.fixture
def topic(old: Cluster) -> str:
    name = fresh("old")
    with tailfin.AdminClient(nameserver=old.namesrv, request_timeout=20.0) as admin:
        admin.topics.create(name, queues=3)
    return name


def test_what_java_sends_arrives(style: Style, java: Puppet, topic: str) -> None:
    ledger = Ledger()
    sent = list[Saw]()
    with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"):
        for kind in ("plain", "batch", "delayed", "ZLIB"):
            sent += java.send(kind, topic, 9)
        sent += [each for number, each in enumerate(java.send("transaction", topic, 9)) if number % 3 != 1]
        assert_same(ledger.wait(len(sent)), sent)


def test_what_it_sends_arrives_at_java(style: Style, java: Puppet, topic: str) -> None:
    messages = scenes.messages(topic, 50)
    with (
        java.consumer("concurrent", fresh("group"), topic) as name,
        style.producer(fresh("producers")) as producer,
    ):
        for message in messages[:10]:
            producer.send(message)
        producer.send_batch(messages[10:20])
        style.send_soon(producer, messages[20:49])
        with producer.transaction(messages[49]):
            pass
        assert_same(java.wait_received(name, 50), map(sent, messages))


def test_order_retries_and_dead_letters(style: Style, topic: str) -> None:
    messages = scenes.messages(topic, 30)
    with style.producer(fresh("producers")) as producer:
        for message in messages:
            producer.send(message, sharding_key=f"customer-{message.flag % 5}")
    in_order = Ledger()
    with style.push(fresh("group"), in_order, subscribe={topic: "*"}, consume_from="first", orderly=True):
        assert_same(in_order.wait(30), map(sent, messages))
    assert_in_order(in_order.seen)
    group = fresh("group")
    failing = Ledger(lambda message: tailfin.RETRY if message.flag == 7 else None)
    with style.push(group, failing, subscribe={topic: "*"}, consume_from="first", max_reconsume_times=1):
        assert_same(map(scenes.seen, scenes.read(style, f"%DLQ%{group}", 1)), [sent(messages[7])])
    assert [each.reconsume_times for each in failing.messages if each.flag == 7] == [0, 1]


def test_a_request_is_answered(style: Style, java: Puppet, topic: str) -> None:
    with style.producer(fresh("askers")) as asker, java.consumer("replying", fresh("group"), topic):
        reply = asker.request(tailfin.Message(topic, b"who is there?"), timeout=20)
        assert reply.body == b"re: who is there?"
