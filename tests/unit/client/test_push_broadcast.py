"""Broadcasting: every consumer gets all messages, and keeps its offsets itself."""

from pathlib import Path

import pytest

from tailfin import Message
from tailfin.aio import PushConsumer
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.mark.shows("BC-01", "BC-02", "OF-01", "OF-02")
@in_loop
async def test_every_consumer_gets_everything_and_goes_on_where_it_was(
    running: Cluster, tmp_path: Path
) -> None:
    topic, group, one, two = fresh("T"), fresh("G"), Heard(), Heard()
    queues = await made(running, topic)
    options = quick(
        running, subscribe={topic: "*"}, broadcast=True, consume_from="first", offsets_folder=tmp_path
    )
    async with sender(running) as producer:
        await send(producer, topic, bodies(20))
        async with (
            PushConsumer(group, instance="one", handler=one, **options) as first,
            PushConsumer(group, instance="two", handler=two, **options) as second,
        ):
            await until(lambda: len(one.messages) == len(two.messages) == 20, "everything, for both")
            assert first.queues == second.queues == set(queues)
        assert sorted(one.bodies) == sorted(two.bodies) == sorted(bodies(20))
        await send(producer, topic, [b"later"])
        async with PushConsumer(group, instance="one", handler=one, **options):
            await until(lambda: len(one.messages) == 21, "what came meanwhile")
    assert one.bodies[-1] == b"later"
    assert len(list(tmp_path.glob(f"*@one/{group}/offsets.json"))) == 1


@pytest.mark.shows("BC-03")
@in_loop
async def test_failed_messages_are_skipped(running: Cluster, tmp_path: Path) -> None:
    topic = fresh("T")
    heard = Heard(lambda message: message.body != b"bad")
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, broadcast=True, offsets_folder=tmp_path)
    async with sender(running) as producer, PushConsumer(fresh("G"), handler=heard, **options) as consumer:
        await producer.send(Message(topic, b"bad"))
        await until(lambda: consumer.stats().skipped == 1, "the message skipped")
        await producer.send(Message(topic, b"good"))
        await until(lambda: heard.bodies == [b"bad", b"good"], "the next one")
        assert consumer.stats().handed_back == 0


@in_loop
async def test_in_order_too(running: Cluster, tmp_path: Path) -> None:
    topic, heard = fresh("T"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, broadcast=True, orderly=True, offsets_folder=tmp_path)
    async with sender(running) as producer, PushConsumer(fresh("G"), handler=heard, **options):
        await send(producer, topic, bodies(10), queue=queue)
        await until(lambda: len(heard.messages) == 10, "all messages")
    assert heard.bodies == bodies(10)
