"""What the Python client sends, the official Java client receives."""

from collections.abc import Callable

import tailfin
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_same
from tests.interop.python_client import scenes
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.scenes import fresh, sent
from tests.interop.python_client.styles import Style

LARGE = b"a body that compresses well; " * 500
COMPRESSIONS = {"zlib": 3, "lz4": 1, "zstd": 2}
COMPRESSION_SHIFT = 8

Send = Callable[[Style, tailfin.Producer, list[tailfin.Message]], object]


def one_by_one(style: Style, producer: tailfin.Producer, messages: list[tailfin.Message]) -> None:
    for message in messages:
        producer.send(message)


def oneway(style: Style, producer: tailfin.Producer, messages: list[tailfin.Message]) -> None:
    for message in messages:
        producer.send_oneway(message)


WAYS: tuple[Send, ...] = (
    one_by_one,
    oneway,
    lambda style, producer, messages: style.send_soon(producer, messages),
    lambda style, producer, messages: producer.send_batch(messages),
)


def test_messages_arrive_as_they_were_sent(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java")
    messages = scenes.messages(topic, 9 * len(WAYS))
    with style.producer(fresh("producers")) as producer:
        for number, send in enumerate(WAYS):
            send(style, producer, messages[9 * number : 9 * (number + 1)])
        with puppet.consumer("concurrent", fresh("group"), topic) as name:
            received = puppet.wait_received(name, len(messages))
    assert_same(received, map(sent, messages))
    assert {each["flag"] for each in received} == {each.flag for each in messages}


def test_compressed_bodies_are_read(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java-compressed")
    messages: list[tailfin.Message] = []
    for method in COMPRESSIONS:
        own = scenes.messages(topic, 9, body=LARGE + method.encode(), tags=method)
        with style.producer(fresh("producers"), compression=method) as producer:
            one_by_one(style, producer, own[:6])
            style.send_soon(producer, own[6:])
        messages += own
    with puppet.consumer("concurrent", fresh("group"), topic) as name:
        received = puppet.wait_received(name, len(messages))
    assert_same(received, map(sent, messages))
    # Whether it came compressed, the Java client has forgotten by then; but not how.
    assert all(each["sysFlag"] >> COMPRESSION_SHIFT & 7 == COMPRESSIONS[each["tags"]] for each in received)


def test_delayed_ones_come_later(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java-delayed")
    messages = scenes.messages(topic, 9, delay_level=1)
    with style.producer(fresh("producers")) as producer:
        one_by_one(style, producer, messages)
        with puppet.consumer("concurrent", fresh("group"), topic) as name:
            received = puppet.wait_received(name, 9)
    assert_same(received, map(sent, messages))
    assert all(each["stored"] - each["born"] >= 900 for each in received)


def test_order_is_kept(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java-in-order", 3)
    messages = scenes.messages(topic, 60)
    with style.producer(fresh("producers")) as producer:
        for number, message in enumerate(messages):
            producer.send(message, sharding_key=f"customer-{number % 5}")
        with puppet.consumer("orderly", fresh("group"), topic) as name:
            received = puppet.wait_received(name, 60)
    assert_same(received, map(sent, messages))
    assert_in_order(received)
    assert_each_customer_in_order(received)


def assert_each_customer_in_order(received: list[Saw]) -> None:
    for customer in range(5):
        own = [each["flag"] for each in received if each["flag"] % 5 == customer]
        assert own == sorted(own)
        assert (
            len({(each["broker"], each["queue"]) for each in received if each["flag"] % 5 == customer}) == 1
        )


def test_properties_can_be_asked_for_in_sql(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java-sql")
    messages = scenes.messages(topic, 9)
    with (
        style.producer(fresh("producers")) as producer,
        puppet.consumer("concurrent", fresh("group"), topic, "sql:color IN ('red-3', 'red-5')") as name,
    ):
        one_by_one(style, producer, messages)
        received = puppet.wait_received(name, 2)
    assert_same(received, [sent(messages[3]), sent(messages[5])])


def test_what_java_cannot_consume_becomes_a_dead_letter(
    style: Style, puppet: Puppet, make_topic: MakeTopic
) -> None:
    topic, group = make_topic("to-java-failing", 1), fresh("group")
    message = scenes.message(topic, 1)
    with style.producer(fresh("producers")) as producer:
        producer.send(message)
        with puppet.consumer("failing", group, topic) as name:
            received = puppet.wait_received(name, 2)
            letters = scenes.read(style, f"%DLQ%{group}", 1)
    assert [each["reconsumed"] for each in received] == [0, 1]
    assert_same(map(scenes.seen, letters), [sent(message)])


def test_a_request_is_answered(style: Style, puppet: Puppet, make_topic: MakeTopic) -> None:
    topic = make_topic("to-java-requests")
    with (
        style.producer(fresh("askers")) as asker,
        puppet.consumer("replying", fresh("group"), topic),
    ):
        answer = asker.request(tailfin.Message(topic, b"who is there?"), timeout=20)
    assert answer.body == b"re: who is there?"
