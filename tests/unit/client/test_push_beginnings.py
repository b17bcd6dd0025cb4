"""A new group begins where its user says, whatever the broker would answer; an old one where it was."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

from tailfin import Message
from tailfin.aio import AdminClient, PullConsumer, PushConsumer
from tailfin.client.consuming.positions import Beginnings, Positions
from tailfin.client.network import Network
from tailfin.client.options import ClientOptions
from tailfin.client.queues import Queue
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


async def visible(running: Cluster, queue: Queue, count: int) -> None:
    """Wait until messages that were sent can be read."""
    async with PullConsumer("lookers", nameserver=running.namesrv) as looker:
        while await looker.end_offset(queue) < count:
            pass


@pytest.mark.shows("OF-05")
@pytest.mark.parametrize("consume_from", ["last", "first"])
@in_loop
async def test_a_new_group_begins_at_the_end_or_at_the_beginning(
    running: Cluster, consume_from: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    caplog.set_level(logging.INFO, "tailfin.client")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        # Young and in memory: RocketMQ's brokers would answer 0 for it, and its clients read from there.
        await send(producer, topic, bodies(5), queue=queue)
        await visible(running, queue, 5)
        options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from=consume_from)
        async with PushConsumer(group, **options):
            await send(producer, topic, bodies(5, 5), queue=queue)
            expected = bodies(5, 5) if consume_from == "last" else bodies(10)
            await until(lambda: len(heard.messages) >= len(expected), "the messages")
    assert sorted(heard.bodies) == expected
    begin = 5 if consume_from == "last" else 0
    said = f"group {group} begins {topic} queue 0 of {queue.broker} at {begin}: no offset yet, "
    assert f"{said}consume_from={consume_from!r}" in caplog.text


@in_loop
async def test_a_group_that_began_at_the_end_misses_nothing_while_it_is_away(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, handler=heard)
    async with sender(running) as producer:
        async with PushConsumer(group, **options):
            pass
        await send(producer, topic, bodies(3), queue=queue)
        await visible(running, queue, 3)
        async with PushConsumer(group, **options):
            await until(lambda: len(heard.messages) == 3, "what came meanwhile")


@in_loop
async def test_a_new_group_begins_at_a_time(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, [b"before"], queue=queue)
        await visible(running, queue, 1)
        async with PullConsumer("lookers", nameserver=running.namesrv) as looker:
            stored_ms = (await looker.pull(queue, 0)).messages[0].store_timestamp
        moment = datetime.fromtimestamp(stored_ms / 1000 + 0.001, UTC)
        while datetime.now(UTC) <= moment + timedelta(milliseconds=2):
            pass
        await send(producer, topic, [b"after"], queue=queue)
        await visible(running, queue, 2)
        options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from=moment)
        async with PushConsumer(fresh("G"), **options):
            await until(lambda: heard.messages, "the message after that time")
    assert heard.bodies == [b"after"]


@pytest.mark.shows("RB-09")
@in_loop
async def test_queues_that_are_added_are_read_from_their_begin(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    await made(running, topic, 1)
    options = quick(running, subscribe={topic: "*"}, handler=heard, rebalance_interval=60.0)
    async with sender(running) as producer, PushConsumer(fresh("G"), **options):
        async with AdminClient(nameserver=running.namesrv) as admin:
            await admin.topics.create(topic, queues=2)
        added = Queue(topic, running.broker.config.brokerName, 1)
        await send(producer, topic, bodies(3), queue=added)
        await until(lambda: len(heard.messages) == 3, "messages of the new queue")


class AnswersZero:
    """The offset store as a broker before 5.0 makes it look: 0 for a young queue without an offset."""

    async def load(self) -> None: ...

    async def fetch(self, queue: Queue) -> int | None:
        return 0

    async def store(self, offsets: object) -> dict[Queue, int]:
        return {}


@pytest.mark.parametrize("has_read", [False, True])
@in_loop
async def test_zero_of_an_old_broker_counts_only_if_the_group_has_read_the_topic(
    running: Cluster, has_read: bool
) -> None:
    topic, group = fresh("T"), fresh("G")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, bodies(4), queue=queue)
        await visible(running, queue, 4)
    if has_read:
        async with PullConsumer(group, nameserver=running.namesrv) as reader:
            await reader.commit(queue, 0)
    async with Network(ClientOptions(nameserver=running.namesrv)) as network:
        await network.route(topic)
        beginnings = Beginnings(network, group, AnswersZero(), Positions(network), "last")
        assert await beginnings.of(queue) == ((0, False) if has_read else (4, True))


@in_loop
async def test_an_offset_that_the_queue_does_not_have_is_corrected(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, bodies(3), queue=queue)
        await visible(running, queue, 3)
        async with PullConsumer(group, nameserver=running.namesrv) as reader:
            await reader.commit(queue, 1000)
        options = quick(running, subscribe={topic: "*"}, handler=heard)
        async with PushConsumer(group, **options):
            await until(lambda: "reading goes on at" in caplog.text, "the correction")
            await producer.send(Message(topic, b"later"), queue=queue)
            await until(lambda: b"later" in heard.bodies, "the next message")
