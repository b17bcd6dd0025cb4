"""Messages that are asked for: polled, iterated over, from a share or from given queues."""

import asyncio
from datetime import UTC, datetime

import pytest

from tailfin import ClientError, ClientStopped, Message, Queue
from tailfin._engine import ReceivedMessage
from tailfin.aio import LitePullConsumer
from tailfin.testing import Cluster
from tests.unit.client.consumers import bodies, fresh, made, quick_pull, send, sender
from tests.unit.loops import in_loop, until


async def polled(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    found: list[ReceivedMessage] = []
    async with asyncio.timeout(15):
        while len(found) < count:
            found += await consumer.poll(0.5)
    return found


@in_loop
async def test_a_poll_returns_messages_in_the_order_of_their_queue(running: Cluster) -> None:
    topic = fresh("T")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first")
    async with sender(running) as producer, LitePullConsumer(fresh("G"), **options) as consumer:
        assert await consumer.poll(0.01) == []
        await send(producer, topic, bodies(30), queue=queue)
        found = await polled(consumer, 30)
        assert [message.body for message in found] == bodies(30)
        assert {message.queue for message in found} == {queue}


@in_loop
async def test_a_poll_returns_no_more_than_its_limit(running: Cluster) -> None:
    topic = fresh("T")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first")
    async with sender(running) as producer, LitePullConsumer(fresh("G"), **options) as consumer:
        await send(producer, topic, bodies(9), queue=queue)
        await until(lambda: sum(each.cached for each in consumer.stats().queues.values()) == 9, "messages")
        assert len(await consumer.poll(5, limit=4)) == 4


@in_loop
async def test_iterating_and_leaving_commits_what_was_come_to(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", commit_interval=3600.0)
    async with sender(running) as producer:
        await send(producer, topic, bodies(30), queue=queue)
        seen = list[bytes]()
        for end in (5, 12):
            async with LitePullConsumer(group, **options) as consumer:
                async for message in consumer:
                    seen.append(message.body)
                    if len(seen) == end:
                        break
                assert len(seen) == end
        async with LitePullConsumer(group, **options) as consumer:
            assert await consumer.committed(queue) == 12
            seen += [message.body for message in await polled(consumer, 18)]
    assert seen == bodies(30)


@in_loop
async def test_what_an_exception_interrupted_is_read_again(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", commit_interval=3600.0)
    async with sender(running) as producer:
        await send(producer, topic, bodies(3), queue=queue)

        async def fail() -> None:
            async with LitePullConsumer(group, **options) as consumer:
                await polled(consumer, 3)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        async with LitePullConsumer(group, **options) as consumer:
            assert [message.body for message in await polled(consumer, 3)] == bodies(3)


@in_loop
async def test_without_auto_commit_only_the_user_commits(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", auto_commit=False)
    async with sender(running) as producer:
        await send(producer, topic, bodies(6), queue=queue)
        async with LitePullConsumer(group, **options) as consumer:
            await polled(consumer, 6)
        async with LitePullConsumer(group, **options) as consumer:
            assert await consumer.committed(queue) == 0
            first = (await consumer.poll(5, limit=2))[:2]
            assert [message.body for message in first] == bodies(2)
            await consumer.commit()
            assert await consumer.committed(queue) == 2
            await consumer.poll(5, limit=2)
        async with LitePullConsumer(group, **options) as consumer:
            assert (await consumer.poll(5, limit=1))[0].body == b"2"


@in_loop
async def test_auto_commit_happens_by_itself(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queue = (await made(running, topic))[0]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first", commit_interval=0.05)
    async with sender(running) as producer, LitePullConsumer(group, **options) as consumer:
        await send(producer, topic, bodies(6), queue=queue)
        await polled(consumer, 6)
        await consumer.poll(0.01)
        async with asyncio.timeout(10):
            while await consumer.committed(queue) != 6:
                await asyncio.sleep(0.01)


@in_loop
async def test_assigned_queues_are_read_whoever_else_does(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queues = await made(running, topic)
    async with sender(running) as producer:
        for queue in queues:
            await send(producer, topic, [b"%d" % queue.queue_id], queue=queue)
        one = LitePullConsumer(group, **quick_pull(running, consume_from="first"))
        await one.assign(queues[:1])
        async with one, LitePullConsumer(group, **quick_pull(running, consume_from="first")) as two:
            await two.assign(queues[:1])
            assert one.queues == two.queues == set(queues[:1])
            assert await two.available_queues(topic) == set(queues)
            for consumer in (one, two):
                assert [message.queue for message in await polled(consumer, 1)] == queues[:1]
            await two.assign(queues[1:2])
            assert two.queues == set(queues[1:2])
            assert [message.queue for message in await polled(two, 1)] == queues[1:2]


@in_loop
async def test_seeking(running: Cluster) -> None:
    topic = fresh("T")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer, LitePullConsumer(fresh("G"), **quick_pull(running)) as consumer:
        await consumer.assign([queue])
        await send(producer, topic, bodies(5), queue=queue)
        assert [message.body for message in await polled(consumer, 5)] == bodies(5)
        await consumer.seek(queue, 3)
        assert [message.body for message in await polled(consumer, 2)] == bodies(2, 3)
        await consumer.seek_to_begin(queue)
        found = await polled(consumer, 5)
        assert [message.body for message in found] == bodies(5)
        await consumer.seek_to_time(queue, datetime.fromtimestamp(found[0].store_timestamp / 1000, UTC))
        assert (await polled(consumer, 1))[0].body == b"0"
        await consumer.seek_to_end(queue)
        await producer.send(Message(topic, b"new"), queue=queue)
        assert [message.body for message in await polled(consumer, 1)] == [b"new"]
        with pytest.raises(ValueError, match="0 or more, not -1"):
            await consumer.seek(queue, -1)
        with pytest.raises(ClientError, match="is not read by this consumer"):
            await consumer.seek(Queue(topic, queue.broker, 9), 0)


@in_loop
async def test_paused_queues_are_left_out(running: Cluster) -> None:
    topic = fresh("T")
    one, two = (await made(running, topic))[:2]
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first")
    async with sender(running) as producer, LitePullConsumer(fresh("G"), **options) as consumer:
        consumer.pause([one])
        await send(producer, topic, [b"one"], queue=one)
        await send(producer, topic, [b"two"], queue=two)
        await until(lambda: consumer.stats().queues[one].cached == 1, "the message held back")
        assert [message.body for message in await polled(consumer, 1)] == [b"two"]
        assert await consumer.poll(0.01) == []
        consumer.resume([one])
        assert [message.body for message in await polled(consumer, 1)] == [b"one"]


@in_loop
async def test_members_share(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queues = await made(running, topic)
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first")
    async with LitePullConsumer(group, **options) as one:
        assert one.queues == set(queues)
        async with LitePullConsumer(group, **options) as two:
            await until(
                lambda: not one.queues & two.queues and one.queues | two.queues == set(queues), "shares"
            )
        await until(lambda: one.queues == set(queues), "everything again")


@in_loop
async def test_subscriptions_can_change(running: Cluster) -> None:
    topic = fresh("T")
    await made(running, topic)
    async with LitePullConsumer(fresh("G"), **quick_pull(running)) as consumer, sender(running) as producer:
        await consumer.subscribe(topic, "a")
        await until(lambda: len(consumer.queues) == 4, "the queues")
        await send(producer, topic, [b"no"], tags="b")
        await send(producer, topic, [b"yes"], tags="a")
        assert [message.body for message in await polled(consumer, 1)] == [b"yes"]
        await consumer.unsubscribe(topic)
        assert consumer.queues == set()


@in_loop
async def test_a_stop_ends_an_iteration(running: Cluster) -> None:
    topic = fresh("T")
    await made(running, topic)
    consumer = LitePullConsumer(fresh("G"), **quick_pull(running, subscribe={topic: "*"}))
    await consumer.start()

    async def iterate() -> list[ReceivedMessage]:
        return [message async for message in consumer]

    iteration = asyncio.create_task(iterate())
    await asyncio.sleep(0)
    await consumer.stop()
    assert await iteration == []
    with pytest.raises(ClientStopped):
        await consumer.poll()


@in_loop
async def test_subscribe_and_assign_exclude_each_other(running: Cluster) -> None:
    consumer = LitePullConsumer("G", **quick_pull(running, subscribe={"T": "*"}))
    with pytest.raises(ClientError, match="exclude each other, and subscribe was used"):
        await consumer.assign([Queue("T", "b", 0)])
    consumer = LitePullConsumer("G", **quick_pull(running))
    await consumer.assign([Queue("T", "b", 0)])
    with pytest.raises(ClientError, match="exclude each other, and assign was used"):
        await consumer.subscribe("T")


@in_loop
async def test_a_second_poll_at_the_same_time_is_refused(running: Cluster) -> None:
    topic = fresh("T")
    await made(running, topic)
    options = quick_pull(running, subscribe={topic: "*"}, consume_from="first")
    async with sender(running) as producer, LitePullConsumer(fresh("G"), **options) as consumer:
        waiting = asyncio.create_task(consumer.poll(20))
        await asyncio.sleep(0)
        for second in (consumer.poll(1), consumer.next_portion()):
            with pytest.raises(ClientError, match="give each thread or task a consumer of its own"):
                await second
        await send(producer, topic, [b"x"])
        assert [message.body for message in await waiting] == [b"x"]
        assert await consumer.poll(0) == []


@in_loop
async def test_a_poll_that_was_cancelled_is_in_nobodys_way(running: Cluster) -> None:
    async with LitePullConsumer(fresh("G"), **quick_pull(running)) as consumer:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(consumer.poll(20), 0.01)
        assert await consumer.poll(0) == []


def test_a_consumer_belongs_to_the_loop_it_was_started_in(running: Cluster) -> None:
    consumer = LitePullConsumer(fresh("G"), **quick_pull(running))

    async def elsewhere() -> None:
        for call in (consumer.poll(1), consumer.next_portion(), consumer.commit(), consumer.stop()):
            with pytest.raises(ClientError, match="started in another event loop: make one for each"):
                await call

    @in_loop
    async def check() -> None:
        async with consumer:
            await asyncio.to_thread(asyncio.run, elsewhere())
            assert await consumer.poll(0) == []

    check()
    # Stopped, it may be started in any loop.
    check()
