"""One queue, one offset, one answer."""

from datetime import UTC, datetime

import pytest

from tailfin import ClientStopped, Hook, Message, NoRoute, PullStatus, Queue, Sql
from tailfin.aio import PullConsumer
from tailfin.testing import Cluster
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tests.unit.client.consumers import bodies, fresh, made, send, sender
from tests.unit.loops import in_loop


@pytest.mark.shows("PL-14", "PL-15", "OF-06")
@in_loop
async def test_pulls_and_offsets(running: Cluster) -> None:
    topic = fresh("T")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer, PullConsumer(fresh("G"), nameserver=running.namesrv) as consumer:
        assert queue in await consumer.queues(topic)
        empty = await consumer.pull(queue, 0)
        assert (empty.status, empty.messages, empty.next_offset) == (PullStatus.NO_NEW_MESSAGE, [], 0)
        for number, tag in enumerate("aabb"):
            await producer.send(Message(topic, b"%d" % number, tags=tag), queue=queue)
        while await consumer.end_offset(queue) < 4:
            pass
        found = await consumer.pull(queue, 1, 2)
        assert found.status is PullStatus.FOUND
        assert [message.body for message in found.messages] == bodies(2, 1)
        assert (found.next_offset, found.min_offset, found.max_offset) == (3, 0, 4)
        tagged = await consumer.pull(queue, 0, expression="b")
        assert [message.body for message in tagged.messages] == bodies(2, 2)
        by_sql = await consumer.pull(queue, 0, expression=Sql("TAGS = 'a'"))
        assert [message.body for message in by_sql.messages] == bodies(2)
        beyond = await consumer.pull(queue, 99)
        assert beyond.status is PullStatus.OFFSET_ILLEGAL
        assert beyond.next_offset in (0, 4)
        assert await consumer.first_offset(queue) == 0
        moment = datetime.fromtimestamp(found.messages[0].store_timestamp / 1000, UTC)
        assert await consumer.offset_at(queue, moment) <= 1
        assert await consumer.committed(queue) is None
        await consumer.commit(queue, 3)
        assert await consumer.committed(queue) == 3


@in_loop
async def test_a_held_pull_brings_what_comes_meanwhile(running: Cluster) -> None:
    topic = fresh("T")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer, PullConsumer(fresh("G"), nameserver=running.namesrv) as consumer:
        await send(producer, topic, [b"soon"], queue=queue)
        held = await consumer.pull(queue, 0, hold=10.0)
    assert [message.body for message in held.messages] == [b"soon"]


class Holds(Hook):
    """Notes for how long brokers are asked to hold pulls."""

    def __init__(self) -> None:
        self.asked = list[str | None]()

    def before_request(self, address: str, request: Frame) -> None:
        if request.code == Code.PULL_MESSAGE:
            self.asked.append(request.fields.get("suspendTimeoutMillis"))


@pytest.mark.shows("PL-22")
@in_loop
async def test_each_pull_says_for_how_long_it_may_be_held(running: Cluster) -> None:
    topic, holds = fresh("T"), Holds()
    queue = (await made(running, topic))[0]
    async with PullConsumer(fresh("G"), nameserver=running.namesrv, hooks=[holds]) as consumer:
        for hold in (0.0, 0.1):
            result = await consumer.pull(queue, 0, hold=hold)
            assert result.status is PullStatus.NO_NEW_MESSAGE
    assert holds.asked == ["0", "100"]


@in_loop
async def test_mistakes(running: Cluster) -> None:
    consumer = PullConsumer("G", nameserver=running.namesrv)
    with pytest.raises(ClientStopped):
        await consumer.queues("T")
    async with consumer:
        with pytest.raises(NoRoute, match="no route for topic 'nowhere'"):
            await consumer.queues("nowhere")
        with pytest.raises(ValueError, match="an offset of 0 or more"):
            await consumer.pull(Queue("T", "b", 0), -1)
