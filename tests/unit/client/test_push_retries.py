"""Messages that fail come again, and in the end they are dead letters."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tailfin import RETRY, Message, Retry
from tailfin._engine import ReceivedMessage
from tailfin.aio import AdminClient, PushConsumer
from tailfin.testing import Cluster, cluster
from tailfin.wire.codes import Code
from tests.unit.client.consumers import Heard, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.fixture
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def refuse(message: ReceivedMessage) -> object:
    raise ValueError(f"no {message.body!r} today")


@pytest.mark.shows("RT-04", "RT-07", "RT-08")
@pytest.mark.parametrize("kind", ["raises", "returns RETRY", "returns False"])
@in_loop
async def test_a_failed_message_comes_again_under_its_topic_and_id(running: Cluster, kind: str) -> None:
    topic = fresh("T")

    def act(message: ReceivedMessage) -> object:
        if message.reconsume_times:
            return None
        if kind == "raises":
            raise ValueError("not now")
        return RETRY if kind == "returns RETRY" else False

    heard = Heard(act)
    await made(running, topic)
    async with sender(running) as producer:
        options = quick(running, subscribe={topic: "*"}, handler=heard)
        async with PushConsumer(fresh("G"), **options) as consumer:
            sent = await producer.send(Message(topic, b"stubborn", keys="k1"))
            await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
            await until(lambda: running.waiting() == 1, "the message waiting")
            running.clock.advance(11)
            await until(lambda: len(heard.messages) == 2, "the message again")
            await until(lambda: consumer.stats().consumed == 1, "one consumed")
            assert consumer.stats().failed == 1
    assert [message.reconsume_times for message in heard.messages] == [0, 1]
    assert {(message.topic, message.message_id) for message in heard.messages} == {(topic, sent.message_id)}
    assert heard.messages[1].keys == ["k1"]


@in_loop
async def test_a_handler_may_say_how_long_to_wait(running: Cluster) -> None:
    topic = fresh("T")
    heard = Heard(lambda message: None if message.reconsume_times else Retry(delay_level=1))
    await made(running, topic)
    async with sender(running) as producer:
        options = quick(running, subscribe={topic: "*"}, handler=heard)
        async with PushConsumer(fresh("G"), **options) as consumer:
            await send(producer, topic, [b"in a second"])
            await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
            await until(lambda: running.waiting() == 1, "the message waiting")
            running.clock.advance(2)
            await until(lambda: len(heard.messages) == 2, "the message again")


@pytest.mark.shows("DQ-01")
@pytest.mark.parametrize("kind", ["limit", "at once"])
@in_loop
async def test_a_message_that_fails_too_often_becomes_a_dead_letter(running: Cluster, kind: str) -> None:
    topic, group = fresh("T"), fresh("G")
    heard = Heard(refuse if kind == "limit" else lambda message: Retry(delay_level=-1))
    tries = 3 if kind == "limit" else 1
    await made(running, topic)
    async with sender(running) as producer:
        options = quick(running, subscribe={topic: "*"}, handler=heard, max_reconsume_times=2)
        async with PushConsumer(group, **options) as consumer:
            await send(producer, topic, [b"hopeless"])
            for tried in range(1, tries):
                await until(lambda: consumer.stats().handed_back == tried, "a message handed back")  # noqa: B023
                await until(lambda: running.waiting() == 1, "the message waiting")
                running.clock.advance(61)
            await until(lambda: consumer.stats().handed_back == tries, "the last try")
    async with AdminClient(nameserver=running.namesrv) as admin, asyncio.timeout(15):
        while not (letters := await admin.dead_letters.list(group)):
            await asyncio.sleep(0.02)
    assert [letter.body for letter in letters] == [b"hopeless"]
    assert len(heard.messages) == tries


@pytest.mark.parametrize("lost", ["hand back", "hand back and send"])
@in_loop
async def test_a_message_that_cannot_be_handed_back_is_not_lost(running: Cluster, lost: str) -> None:
    topic, group = fresh("T"), fresh("G")
    heard = Heard(lambda message: len(heard.messages) > 1)
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, request_timeout=0.5)
    async with sender(running) as producer, PushConsumer(group, handler=heard, **options) as consumer:
        await until(lambda: len(consumer.queues) > 2, "the retry topic's queue")
        await send(producer, topic, [b"once more"])
        codes = [Code.CONSUMER_SEND_MSG_BACK, *([Code.SEND_MESSAGE_V2] if "send" in lost else [])]
        with running.faults.drop(*codes) as fault:
            await until(lambda: fault.met >= len(codes), "lost requests")
            if lost == "hand back":
                await until(lambda: consumer.stats().handed_back == 1, "the message in the retry topic")
                await until(lambda: running.waiting() == 1, "the message waiting")
                running.clock.advance(11)
            await until(lambda: len(heard.messages) == 2, "the message again")
    assert [message.reconsume_times for message in heard.messages] == [0, 1 if lost == "hand back" else 0]
    assert {message.topic for message in heard.messages} == {topic}


@pytest.mark.shows("PC-08")
@in_loop
async def test_a_message_whose_handler_takes_too_long_comes_again(running: Cluster) -> None:
    topic, group, go_on = fresh("T"), fresh("G"), threading.Event()
    heard = Heard(lambda message: None if message.reconsume_times else go_on.wait(20) and None)
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, consume_timeout=0.2)
    async with sender(running) as producer, PushConsumer(group, handler=heard, **options) as consumer:
        await send(producer, topic, [b"slow"])
        await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
        await until(lambda: running.waiting() == 1, "the message waiting")
        running.clock.advance(11)
        await until(lambda: len(heard.messages) == 2, "the message again")
        go_on.set()
        await until(lambda: consumer.stats().running == 0, "the end of both calls")
    assert [message.reconsume_times for message in heard.messages] == [0, 1]


@in_loop
async def test_one_slow_call_does_not_hold_up_those_behind_it(running: Cluster) -> None:
    topic, go_on = fresh("T"), threading.Event()
    heard = Heard(lambda message: go_on.wait(20) and None if message.body == b"slow" else None)
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, concurrency=2)
    async with sender(running) as producer, PushConsumer(fresh("G"), handler=heard, **options):
        # So many that a fast handler gets them in large portions.
        await send(producer, topic, [b"fast"] * 100, queue=queue)
        await send(producer, topic, [b"slow", *[b"behind"] * 100], queue=queue)
        await until(lambda: len(heard.messages) == 201, "all that stand behind the slow one")
        go_on.set()


@in_loop
async def test_a_cancelled_wait_within_a_handler_is_a_failure_like_others(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()

    async def handle(message: ReceivedMessage) -> None:
        heard(message)
        if message.body == b"bad":
            raise asyncio.CancelledError

    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=handle, concurrency=1)
    async with sender(running) as producer, PushConsumer(fresh("G"), **options) as consumer:
        await send(producer, topic, [b"bad", b"good"])
        await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
        await until(lambda: len(heard.messages) == 2, "the message after it")


@in_loop
async def test_an_exception_is_logged_with_the_message_it_was_about(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = fresh("T")
    await made(running, topic)
    async with sender(running) as producer:
        options = quick(running, subscribe={topic: "*"}, handler=refuse)
        async with PushConsumer(fresh("G"), **options) as consumer:
            sent = await producer.send(Message(topic, b"stubborn"))
            await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
    assert f"the handler raised ValueError on message {sent.message_id} of {topic}" in caplog.text
    assert "no b'stubborn' today" in caplog.text
