"""Inside a namespace users see their own names; the cluster sees them with the prefix."""

import pytest

from tailfin import Message
from tailfin._engine import ReceivedMessage
from tailfin.aio import AdminClient, LitePullConsumer, Producer, PullConsumer, PushConsumer
from tailfin.client.queues import Queue
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, fresh, made, quick, quick_pull
from tests.unit.loops import in_loop, until


@pytest.mark.shows("RT-07")
@in_loop
async def test_names_are_the_users_own(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    wrapped = await made(running, f"shop%{topic}")
    queues = {Queue(topic, queue.broker, queue.queue_id) for queue in wrapped}

    def act(message: ReceivedMessage) -> object:
        return message.reconsume_times > 0

    heard = Heard(act)
    options = quick(running, subscribe={topic: "*"}, handler=heard, namespace="shop")
    async with (
        Producer("senders", nameserver=running.namesrv, namespace="shop") as producer,
        PushConsumer(group, **options) as consumer,
        AdminClient(nameserver=running.namesrv) as admin,
    ):
        assert consumer.queues >= queues
        await producer.send(Message(topic, b"hello"))
        await until(lambda: consumer.stats().handed_back == 1, "the message handed back")
        await until(lambda: running.waiting() == 1, "the message waiting")
        running.clock.advance(11)
        await until(lambda: len(heard.messages) == 2, "the message again")
        assert {message.topic for message in heard.messages} == {topic}
        assert heard.messages[1].stored_topic == f"%RETRY%shop%{group}"
        assert (await admin.connections.consumers(f"shop%{group}")).clients
    lite = quick_pull(running, subscribe={topic: "*"}, consume_from="first", namespace="shop")
    async with LitePullConsumer(fresh("G"), **lite) as reader:
        assert reader.queues == queues
        assert {message.topic for message in await reader.poll()} == {topic}
        assert await reader.committed(next(iter(queues))) == 0
    async with PullConsumer(fresh("G"), nameserver=running.namesrv, namespace="shop") as puller:
        assert set(await puller.queues(topic)) == queues
        assert await puller.end_offset(heard.messages[0].queue._replace(topic=topic)) == 1
