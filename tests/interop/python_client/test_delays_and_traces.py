"""Messages that wait, requests that are answered, sends that leave a trace; with either server and style."""

import asyncio
import time
from typing import get_args

import pytest

import tailfin
from tailfin.wire.error import RemotingError
from tests.crash.waiting import wait_until
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.scenario_checks import assert_same
from tests.interop.python_client import scenes
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import Name, Style

FIELD, RECORD = "\x01", "\x02"


def test_delayed_and_timed_messages_come_at_their_time(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("delayed")
    began = round(time.time() * 1000)
    messages = [
        scenes.message(topic, 0, delay_level=1),
        scenes.message(topic, 1, delay=1.5),
        scenes.message(topic, 2, deliver_at=began + 2000),
        scenes.message(topic, 3),
    ]
    ledger = Ledger()
    with (
        style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"),
        style.producer(fresh("producers")) as producer,
    ):
        for message in messages:
            producer.send(message)
        assert_same(ledger.wait(4), map(sent, messages))
    stored = {each.flag: each.store_timestamp - began for each in ledger.messages}
    assert stored[0] >= 1000
    assert stored[1] >= 1500
    # A timer's tick is a second; it may come up to one early, on either server.
    assert stored[2] >= 1000


def test_a_timed_message_is_recalled(
    cluster: Cluster, loop: asyncio.AbstractEventLoop, make_topic: MakeTopic
) -> None:
    # Both styles in one test: their messages wait at the same time.
    styles = [Style(name, cluster.namesrv, loop) for name in get_args(Name)]
    topics = [make_topic("recalled", 1) for _ in styles]
    for style, topic in zip(styles, topics, strict=True):
        moment = round(time.time() * 1000) + 3000
        messages = [scenes.message(topic, number, deliver_at=moment + 1000 * number) for number in range(3)]
        with style.producer(fresh("producers")) as producer:
            results = [producer.send(message) for message in messages]
            handle = results[1].recall_handle
            assert handle is not None
            assert producer.recall(topic, handle) == results[1].message_id
            with pytest.raises(RemotingError, match="recall failed"):
                producer.recall(topic, "bm9uc2Vuc2U=")
    for style, topic in zip(styles, topics, strict=True):
        # The last comes after all others: when it is there, they are, or never will be.
        assert {each.flag for each in scenes.read(style, topic, 2)} == {0, 2}


def test_a_request_is_answered_or_timed_out(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("requests")
    with style.producer(fresh("repliers")) as replier, style.producer(fresh("askers")) as asker:
        answer = style.replying(replier, lambda request: b"re: " + request.body)
        ledger = Ledger(lambda request: answer(request) if request.tags == "polite" else None)
        with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"):
            reply = asker.request(tailfin.Message(topic, b"well?", tags="polite"), timeout=20)
            assert reply.body == b"re: well?"
            with pytest.raises(tailfin.RequestTimeout):
                asker.request(tailfin.Message(topic, b"well?", tags="rude"), timeout=0.5)


def test_a_traced_send_and_its_consumption_leave_records(style: Style, make_topic: MakeTopic) -> None:
    topic, group, producers = make_topic("traced"), fresh("group"), fresh("producers")
    ledger = Ledger()
    with (
        style.push(group, ledger, subscribe={topic: "*"}, consume_from="first", trace=True),
        style.producer(producers, trace=True) as producer,
    ):
        result = producer.send(scenes.message(topic, 0))
        ledger.wait(1)

    def records() -> list[list[str]]:
        texts = [each.body.decode() for each in scenes.read(style, "RMQ_SYS_TRACE_TOPIC", 1)]
        fields = [record.split(FIELD) for text in texts for record in text.split(RECORD)]
        return [each for each in fields if result.message_id in each]

    wait_until(lambda: len(records()) >= 3, "three records", scenes.PATIENCE_S)
    by_kind = {each[0]: each for each in records()}
    assert by_kind.keys() == {"Pub", "SubBefore", "SubAfter"}
    assert by_kind["Pub"][3:6] == [producers, topic, result.message_id]
    assert by_kind["SubBefore"][3] == group
