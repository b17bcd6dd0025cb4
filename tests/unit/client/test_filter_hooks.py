"""Hooks that leave messages out, for every kind of consumer."""

from collections.abc import Callable
from typing import Any

import pytest

from tailfin import Hook
from tailfin._engine import ReceivedMessage
from tailfin.aio import LitePullConsumer, PullConsumer, PushConsumer
from tailfin.client.queues import Queue
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, quick_pull, send, sender
from tests.unit.loops import in_loop, until


class Even(Hook):
    """Wants even numbers only, and fails at what is none."""

    def keep(self, group: str, message: ReceivedMessage) -> bool:
        return int(message.body) % 2 == 0


EVEN = [b"0", b"2", b"4"]


async def six_and_a_word(running: Cluster, topic: str) -> Queue:
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, [*bodies(6), b"word"], queue=queue)
    return queue


@pytest.mark.shows("FI-08")
@pytest.mark.parametrize("kind", ["function", "coroutine"])
@pytest.mark.parametrize("batch_size", [1, 4])
@in_loop
async def test_a_handler_does_not_see_what_a_hook_leaves_out(
    running: Cluster, kind: str, batch_size: int
) -> None:
    topic, heard = fresh("T"), Heard()
    queue = await six_and_a_word(running, topic)
    handler = heard if kind == "function" else heard.awaited()
    options = quick(running, subscribe={topic: "*"}, consume_from="first", batch_size=batch_size)
    async with PushConsumer(fresh("G"), handler=handler, hooks=[Even()], **options) as consumer:
        await until(lambda: consumer.stats().queues[queue].committed == 7, "all messages done")
    assert sorted(heard.bodies) == [*EVEN, b"word"]


async def by_polls(consumer: LitePullConsumer) -> list[bytes]:
    found: list[bytes] = []
    while not found or found[-1] != b"word":
        found += [message.body for message in await consumer.poll(limit=2)]
    return found


async def by_iteration(consumer: LitePullConsumer) -> list[bytes]:
    found: list[bytes] = []
    async for message in consumer:
        found.append(message.body)
        if message.body == b"word":
            break
    return found


@pytest.mark.shows("FI-08")
@pytest.mark.parametrize("read", [by_polls, by_iteration])
@in_loop
async def test_a_lite_pull_consumer_leaves_it_out(running: Cluster, read: Callable[[Any], Any]) -> None:
    topic = fresh("T")
    queue = await six_and_a_word(running, topic)
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", hooks=[Even()])
    async with LitePullConsumer(fresh("G"), **options) as consumer:
        assert await read(consumer) == [*EVEN, b"word"]
        await consumer.commit()
        assert await consumer.committed(queue) == 7


@in_loop
async def test_polls_that_are_left_nothing_still_get_on(running: Cluster) -> None:
    class Nothing(Hook):
        def keep(self, group: str, message: ReceivedMessage) -> bool:
            return message.body == b"last"

    topic = fresh("T")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", hooks=[Nothing()])
    async with sender(running) as producer:
        await send(producer, topic, [*bodies(20), b"last"], queue=queue)
    async with LitePullConsumer(fresh("G"), queue_messages=4, pull_batch=2, **options) as consumer:
        found = await consumer.poll(20.0)
    assert [message.body for message in found] == [b"last"]


@in_loop
async def test_a_pull_leaves_it_out(running: Cluster) -> None:
    topic = fresh("T")
    queue = await six_and_a_word(running, topic)
    async with PullConsumer(fresh("G"), nameserver=running.namesrv, hooks=[Even()]) as consumer:
        found = list[bytes]()
        offset = 0
        while offset < 7:
            result = await consumer.pull(queue, offset, hold=5.0)
            found += [message.body for message in result.messages]
            offset = result.next_offset
    assert found == [*EVEN, b"word"]
