"""Members of a group share its queues, as they come and go."""

import contextlib
import logging
import random

import pytest

from tailfin.aio import PushConsumer
from tailfin.client.queues import Queue
from tailfin.client.rebalance import Averagely, ByCircle, ConsistentHash, Strategy
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


def owned(members: list[PushConsumer], topic: str) -> list[Queue]:
    return sorted(queue for member in members for queue in member.queues if queue.topic == topic)


@pytest.mark.shows("RB-01", "RB-03", "RB-08")
@pytest.mark.parametrize("strategy", [Averagely(), ByCircle(), ConsistentHash()], ids=lambda each: each.name)
@in_loop
async def test_every_queue_has_one_owner_as_members_come_and_go(running: Cluster, strategy: Strategy) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queues = await made(running, topic, 4)
    # Nobody looks again by itself within the test: members hear of each change.
    options = quick(
        running, subscribe={topic: "*"}, handler=heard, strategy=strategy, rebalance_interval=60.0
    )
    chance, sent = random.Random(7), 0
    async with sender(running) as producer, contextlib.AsyncExitStack() as stack:
        members: list[PushConsumer] = []
        for _ in range(8):
            if len(members) < 2 or (len(members) < 4 and chance.random() < 0.6):
                member = PushConsumer(group, consume_from="first", **options)
                await member.start()
                stack.push_async_callback(member.stop)
                members.append(member)
            else:
                await members.pop(chance.randrange(len(members))).stop()
            await send(producer, topic, bodies(8, sent))
            sent += 8
            await until(lambda: owned(members, topic) == queues, "one owner for every queue")
        await until(lambda: set(heard.bodies) >= set(bodies(sent)), "every message")


@in_loop
async def test_members_share_and_each_message_is_consumed_once(running: Cluster) -> None:
    topic, group, one, two = fresh("T"), fresh("G"), Heard(), Heard()
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "*"})
    async with (
        sender(running) as producer,
        PushConsumer(group, handler=one, **options) as first,
        PushConsumer(group, handler=two, **options) as second,
    ):
        await until(lambda: owned([first, second], topic) == queues, "a share for both")
        await send(producer, topic, bodies(40))
        await until(lambda: len(one.messages) + len(two.messages) >= 40, "all messages")
        assert {message.queue for message in one.messages} <= first.queues
    assert len(one.messages) == len(two.messages) == 20
    assert sorted([*one.bodies, *two.bodies]) == sorted(bodies(40))


@in_loop
async def test_a_member_that_goes_leaves_no_message_to_be_read_twice(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    await made(running, topic)
    options = quick(
        running, subscribe={topic: "*"}, handler=heard, consume_from="first", commit_interval=3600.0
    )
    async with sender(running) as producer:
        first = PushConsumer(group, **options)
        await first.start()
        await send(producer, topic, bodies(40))
        await until(lambda: len(heard.messages) == 40, "all messages")
        await first.stop()
        async with PushConsumer(group, **options):
            await send(producer, topic, bodies(4, 40))
            await until(lambda: len(heard.messages) >= 44, "messages for the next member")
    assert sorted(heard.bodies) == sorted(bodies(44))


@in_loop
async def test_members_that_subscribe_differently_are_warned_by_name(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group, one, two = fresh("T"), fresh("G"), Heard(), Heard()
    await made(running, topic)
    quicker = quick(running, rebalance_interval=0.2)
    caplog.set_level(logging.WARNING, "tailfin.client")
    async with (
        PushConsumer(group, subscribe={topic: "a"}, handler=one, **quicker),
        PushConsumer(group, subscribe={topic: "b"}, handler=two, **quicker),
    ):
        await until(lambda: "subscribe differently" in caplog.text, "the warning")
    warning = next(each for each in caplog.messages if "subscribe differently" in each)
    assert group in warning
    assert f"'{topic}'" in warning
    assert "'a'" in warning
    assert "'b'" in warning
