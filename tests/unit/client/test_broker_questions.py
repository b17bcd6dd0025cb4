"""What operators ask of a running consumer, by way of its broker."""

import asyncio
from collections.abc import Iterator

import pytest

from tailfin import Queue
from tailfin._engine import ReceivedMessage
from tailfin.admin.errors import AdminError
from tailfin.aio import AdminClient, PushConsumer
from tailfin.testing import Cluster, cluster
from tailfin.wire.bodies.clients import GetConsumerStatusBody
from tailfin.wire.bodies.stats import CMResult
from tailfin.wire.codes import Code
from tests.unit.broker.talking import Talker
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.mark.parametrize("orderly", [False, True])
@in_loop
async def test_offsets_that_are_reset_are_read_again(running: Cluster, orderly: bool) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from="first", orderly=orderly)
    async with (
        sender(running) as producer,
        PushConsumer(group, **options) as consumer,
        AdminClient(nameserver=running.namesrv) as admin,
    ):
        await send(producer, topic, bodies(6))
        await until(lambda: len(heard.messages) == 6, "all messages")
        await until(lambda: consumer.stats().consumed == 6, "all of them done")
        await admin.offsets.reset(group, topic, "first")
        await until(lambda: len(heard.messages) == 12, "all messages again")
        await until(lambda: consumer.stats().consumed == 12, "all of them done")
    assert sorted(heard.bodies) == sorted(bodies(6) * 2)


@in_loop
async def test_how_far_it_is(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, handler=heard)
    talker = Talker(running.broker.address)
    async with sender(running) as producer, PushConsumer(group, **options) as consumer:
        await send(producer, topic, bodies(3), queue=queue)
        await until(lambda: consumer.stats().consumed == 3, "all messages done")
        answer = await talker.ask(
            Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": topic, "group": group, "clientAddr": ""}
        )
    await talker.client.stop()
    (table,) = GetConsumerStatusBody.from_json(answer.body).consumer_table.values()
    assert table[queue.to_body()] == 3


@in_loop
async def test_how_it_is_doing(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "a || b"}, handler=print, orderly=True)
    async with PushConsumer(group, **options), AdminClient(nameserver=running.namesrv) as admin:
        (member,) = (await admin.connections.consumers(group)).clients
        info = await admin.connections.running_info(group, member.client_id, stacks=True)
    assert info.properties["PROP_CONSUMEORDERLY"] == "true"
    assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
    assert {each.topic: each.sub_string for each in info.subscription_set}[topic] == "a || b"
    assert info.mq_table.keys() >= {queue.to_body() for queue in queues}
    assert info.mq_table[queues[0].to_body()].locked
    assert "thread_stacks" in (info.jstack or "")


async def found(admin: AdminClient, queue: Queue, offset: int) -> ReceivedMessage:
    """Return a message as soon as it can be read."""
    async with asyncio.timeout(15):
        while True:
            try:
                return await admin.messages.by_offset(queue, offset)
            except AdminError:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
@in_loop
async def test_a_message_can_be_consumed_out_of_turn(running: Cluster, kind: str) -> None:
    topic, group = fresh("T"), fresh("G")

    def act(message: ReceivedMessage) -> object:
        if message.body == b"bad":
            raise ValueError("no")
        return message.body != b"later"

    heard = Heard(act)
    handler = heard if kind == "function" else heard.awaited()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "nothing"}, handler=handler)
    results = []
    async with (
        sender(running) as producer,
        PushConsumer(group, **options),
        AdminClient(nameserver=running.namesrv) as admin,
    ):
        await send(producer, topic, [b"good", b"bad", b"later"], queue=queue)
        (member,) = (await admin.connections.consumers(group)).clients
        for offset in range(3):
            message = await found(admin, queue, offset)
            results.append(await admin.messages.consume_directly(message, group, member.client_id))
    assert [result.consume_result for result in results] == [
        CMResult.CR_SUCCESS,
        CMResult.CR_THROW_EXCEPTION,
        CMResult.CR_LATER,
    ]
    assert results[1].remark == "ValueError: no"
    assert [(message.topic, message.body) for message in heard.messages] == [
        (topic, b"good"),
        (topic, b"bad"),
        (topic, b"later"),
    ]
