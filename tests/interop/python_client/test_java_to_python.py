"""What the official Java client sends, the Python client receives."""

from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_same
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.scenes import Ledger, fresh
from tests.interop.python_client.styles import Style

KINDS = ("plain", "batch", "sharded", "delayed", "ZLIB", "LZ4", "ZSTD")


def test_messages_arrive_as_they_were_sent(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("from-java")
    ledger = Ledger()
    sent = list[Saw]()
    with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"):
        for kind in KINDS:
            sent += puppet.send(kind, topic, 9)
        assert_same(ledger.wait(len(sent)), sent)


def test_order_is_kept(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("from-java-in-order", 3)
    sent = puppet.send("sharded", topic, 60)
    ledger = Ledger()
    with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first", orderly=True):
        assert_same(ledger.wait(60), sent)
    assert_in_order(ledger.seen)


def test_a_request_is_answered(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("from-java-requests")
    with style.producer(fresh("repliers")) as replier:
        ledger = Ledger(style.replying(replier, lambda request: b"re: " + request.body))
        with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"):
            assert puppet.ask("request", topic, "who is there?")["answer"] == "re: who is there?"
