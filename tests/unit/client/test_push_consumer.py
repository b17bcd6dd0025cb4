"""Messages come to their handler, and a clean stop leaves nothing to read again."""

import asyncio
import threading
from typing import Any

import pytest

from tailfin import ClientError, ClientStopped, Consuming, Hook, Message, NoNameServer, Sql
from tailfin._engine import ReceivedMessage
from tailfin.aio import PushConsumer
from tailfin.config.setting import ConfigError
from tailfin.testing import Cluster
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.mark.shows("PC-01", "PC-13", "PL-16")
@pytest.mark.parametrize("kind", ["function", "coroutine"])
@in_loop
async def test_a_handler_gets_every_message(running: Cluster, kind: str) -> None:
    topic, heard = fresh("T"), Heard()
    handler = heard if kind == "function" else heard.awaited()
    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, bodies(50))
        options = quick(running, subscribe={topic: "*"}, handler=handler, consume_from="first")
        async with PushConsumer(fresh("G"), **options) as consumer:
            await until(lambda: len(heard.messages) >= 50, "all messages")
            await send(producer, topic, bodies(5, 50))
            await until(lambda: len(heard.messages) >= 55, "messages sent later")
            await until(lambda: consumer.stats().consumed == 55, "the count of messages")
            stats = consumer.stats()
    assert sorted(heard.bodies) == sorted(bodies(55))
    assert {message.topic for message in heard.messages} == {topic}
    assert stats.failed == 0
    assert sum(each.committed for queue, each in stats.queues.items() if queue.topic == topic) == 55


@pytest.mark.shows("PC-04", "CI-04")
@in_loop
async def test_after_the_start_brokers_know_it_and_it_has_its_queues(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=print, rebalance_interval=60.0)
    async with PushConsumer(group, **options) as consumer:
        assert {queue for queue in consumer.queues if queue.topic == topic} == set(queues)
        assert all(broker.clients.consumer_group(group) for broker in running.brokers)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
@in_loop
async def test_a_clean_stop_leaves_nothing_to_read_again(running: Cluster, kind: str) -> None:
    topic, group, first, second = fresh("T"), fresh("G"), Heard(), Heard()
    handler = first if kind == "function" else first.awaited()
    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, bodies(200))
        options = quick(running, subscribe={topic: "*"}, consume_from="first", commit_interval=3600.0)
        async with PushConsumer(group, handler=handler, **options):
            await until(lambda: len(first.messages) >= 20, "some messages")
        async with PushConsumer(group, handler=second, **options):
            await until(lambda: len(first.messages) + len(second.messages) >= 200, "the rest")
        await send(producer, topic, [b"end"])
        third = Heard()
        async with PushConsumer(group, handler=third, **options):
            await until(lambda: third.messages, "the last message")
    assert sorted([*first.bodies, *second.bodies, *third.bodies]) == sorted([*bodies(200), b"end"])


@in_loop
async def test_a_handler_that_runs_at_the_stop_is_waited_for(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    begun, go_on = threading.Event(), threading.Event()

    def slow(message: ReceivedMessage) -> None:
        begun.set()
        go_on.wait(20)

    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, [b"slow"])
        options = quick(running, subscribe={topic: "*"}, consume_from="first")
        consumer = PushConsumer(group, handler=slow, **options)
        await consumer.start()
        await until(begun.is_set, "the handler's begin")
        stopping = asyncio.create_task(consumer.stop())
        await asyncio.sleep(0)
        assert not stopping.done()
        go_on.set()
        await stopping
        heard = Heard()
        await send(producer, topic, [b"next"])
        async with PushConsumer(group, handler=heard, **options):
            await until(lambda: heard.messages, "the next message")
    assert heard.bodies == [b"next"]


@pytest.mark.parametrize("kind", ["function", "coroutine"])
@in_loop
async def test_a_handler_that_does_not_end_does_not_hold_up_the_stop(running: Cluster, kind: str) -> None:
    topic, group = fresh("T"), fresh("G")
    begun, never = threading.Event(), threading.Event()

    def stuck(message: ReceivedMessage) -> None:
        begun.set()
        never.wait(20)

    async def stuck_in_a_task(message: ReceivedMessage) -> None:
        begun.set()
        await asyncio.sleep(3600)

    handler = stuck if kind == "function" else stuck_in_a_task
    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, [b"stuck"])
        options = quick(running, subscribe={topic: "*"}, consume_from="first", stop_timeout=0.1)
        async with PushConsumer(group, handler=handler, **options):
            await until(begun.is_set, "the handler's begin")
        heard = Heard()
        async with PushConsumer(group, handler=heard, **options):
            await until(lambda: heard.messages, "the message again")
    never.set()
    assert heard.bodies == [b"stuck"]


@pytest.mark.shows("PC-06")
@in_loop
async def test_tags_and_sql_choose(running: Cluster) -> None:
    topic, by_tag, by_sql = fresh("T"), Heard(), Heard()
    async with sender(running) as producer:
        for number, tag in enumerate("abca"):
            await producer.send(Message(topic, b"%d" % number, tags=tag, properties={"n": str(number)}))
        tags = quick(running, subscribe={topic: "a || c"}, handler=by_tag, consume_from="first")
        sql = quick(running, subscribe={topic: Sql("n > 1")}, handler=by_sql, consume_from="first")
        async with PushConsumer(fresh("G"), **tags), PushConsumer(fresh("G"), **sql):
            await until(lambda: len(by_tag.messages) >= 3, "messages with the tags")
            await until(lambda: len(by_sql.messages) >= 2, "messages by expression")
    assert sorted(by_tag.bodies) == [b"0", b"2", b"3"]
    assert sorted(by_sql.bodies) == [b"2", b"3"]


@pytest.mark.shows("CI-04")
@in_loop
async def test_a_wrong_expression_is_said_at_the_start(running: Cluster) -> None:
    topic = fresh("T")
    await made(running, topic)
    consumer = PushConsumer(fresh("G"), **quick(running, subscribe={topic: Sql("n >")}, handler=print))
    with pytest.raises(ClientError, match="refuses the subscription 'n >'"):
        await consumer.start()


@pytest.mark.shows("PC-09")
@in_loop
async def test_a_batch_handler_gets_lists(running: Cluster) -> None:
    topic, sizes = fresh("T"), list[int]()

    async def handle(messages: list[ReceivedMessage]) -> None:
        assert isinstance(messages, list)
        sizes.append(len(messages))

    async with sender(running) as producer:
        queue = (await made(running, topic))[0]
        await send(producer, topic, bodies(20), queue=queue)
        options = quick(running, subscribe={topic: "*"}, handler=handle, consume_from="first", batch_size=8)
        async with PushConsumer(fresh("G"), **options):
            await until(lambda: sum(sizes) >= 20, "all messages")
    assert 1 < max(sizes) <= 8


@in_loop
async def test_the_decorator_sets_the_handler(running: Cluster) -> None:
    topic, heard = fresh("T"), list[bytes]()
    consumer = PushConsumer(fresh("G"), **quick(running, consume_from="first"))

    @consumer.handler
    async def handle(message: ReceivedMessage) -> None:
        heard.append(message.body)

    await consumer.subscribe(topic)
    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, [b"hello"])
        async with consumer:
            await until(lambda: heard, "the message")
    assert heard == [b"hello"]
    with pytest.raises(ClientError, match="has a handler already"):
        consumer.handler(print)


@in_loop
async def test_no_more_than_concurrency_run_at_once_and_as_many_if_there_is_work(running: Cluster) -> None:
    topic = fresh("T")
    lock, now, most, done = threading.Lock(), 0, 0, threading.Event()
    together = threading.Barrier(3)

    def handle(message: ReceivedMessage) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if not done.is_set():
            together.wait(20)
            done.set()
        with lock:
            now -= 1

    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, bodies(30))
        options = quick(running, subscribe={topic: "*"}, handler=handle, consume_from="first", concurrency=3)
        async with PushConsumer(fresh("G"), **options) as consumer:
            await until(lambda: consumer.stats().consumed >= 30, "all messages")
    assert most == 3


@in_loop
async def test_pause_and_resume(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    async with sender(running) as producer:
        await made(running, topic)
        async with PushConsumer(
            fresh("G"), **quick(running, subscribe={topic: "*"}, handler=heard)
        ) as consumer:
            consumer.pause()
            await send(producer, topic, bodies(3))
            await until(
                lambda: sum(each.cached for each in consumer.stats().queues.values()) == 3,
                "messages held back",
            )
            assert heard.messages == []
            consumer.resume()
            await until(lambda: len(heard.messages) == 3, "messages after the pause")


@pytest.mark.shows("FC-01", "FC-02", "FC-03")
@pytest.mark.parametrize("limit", [{"queue_messages": 8}, {"queue_span": 8}, {"queue_bytes": 1000}])
@in_loop
async def test_a_slow_handler_holds_back_the_pulls_of_its_queue(
    running: Cluster, limit: dict[str, int]
) -> None:
    topic, go_on = fresh("T"), threading.Event()
    by_span = "queue_span" in limit

    def act(message: ReceivedMessage) -> None:
        if message.body == b"0" or not by_span:
            go_on.wait(20)

    heard = Heard(act)
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, consume_from="first", pull_batch=4, **limit)
    async with sender(running) as producer:
        await send(producer, topic, bodies(100), queue=queue)
        async with PushConsumer(fresh("G"), handler=heard, concurrency=2, **options) as consumer:
            await until(lambda: consumer.stats().queues[queue].full, "a full cache")
            cached = consumer.stats().queues[queue].cached
            await send(producer, topic, bodies(50, 100), queue=queue)
            # One pull may have been under way.
            assert consumer.stats().queues[queue].cached <= cached + 4
            go_on.set()
            await until(lambda: len(heard.messages) >= 150, "all messages")
    assert sorted(heard.bodies) == sorted(bodies(150))


@pytest.mark.shows("RB-02")
@in_loop
async def test_a_topic_may_come_later_and_is_read_from_its_begin(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic, heard = fresh("T"), Heard()
    async with PushConsumer(fresh("G"), **quick(running, subscribe={topic: "*"}, handler=heard)):
        assert f"no route for topic '{topic}'" in caplog.text
        async with sender(running) as producer:
            await send(producer, topic, bodies(4))
            await until(lambda: len(heard.messages) >= 4, "messages of the new topic")
    assert sorted(heard.bodies) == bodies(4)
    # Brokers make the group's own topic by themselves: to wait for it is nothing to warn of.
    assert not [each for each in caplog.messages if "waits for its topic" in each and "%RETRY%" in each]


@pytest.mark.shows("RB-02")
@in_loop
async def test_subscriptions_can_change_while_it_runs(running: Cluster) -> None:
    first, second, heard = fresh("T"), fresh("T"), Heard()
    async with sender(running) as producer:
        await made(running, first)
        await made(running, second)
        async with PushConsumer(
            fresh("G"), **quick(running, subscribe={first: "*"}, handler=heard)
        ) as consumer:
            await consumer.subscribe(second, "b")
            await until(
                lambda: any(queue.topic == second for queue in consumer.queues), "the new topic's queues"
            )
            await send(producer, second, [b"no"], tags="a")
            await send(producer, second, [b"yes"], tags="b")
            await until(lambda: heard.messages, "a message of the new topic")
            await consumer.unsubscribe(first)
            assert not any(queue.topic == first for queue in consumer.queues)
    assert heard.bodies == [b"yes"]


@pytest.mark.shows("PC-10")
@in_loop
async def test_hooks_see_messages_before_and_after_the_handler(running: Cluster) -> None:
    seen = list[tuple[str, bool, str]]()

    class Watch(Hook):
        def before_consume(self, consuming: Consuming) -> None:
            seen.append(("before", consuming.success, consuming.messages[0].body.decode()))

        def after_consume(self, consuming: Consuming) -> None:
            seen.append((consuming.status, consuming.success, consuming.messages[0].body.decode()))
            raise ValueError("a hook that fails does no harm")

    topic, heard = fresh("T"), Heard(lambda message: message.body != b"bad")
    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, [b"good", b"bad"])
        options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from="first", hooks=[Watch()])
        async with PushConsumer(fresh("G"), **options):
            await until(lambda: len(seen) >= 4, "the hooks")
    assert sorted(seen) == [
        ("CONSUME_SUCCESS", True, "good"),
        ("RECONSUME_LATER", False, "bad"),
        ("before", False, "bad"),
        ("before", False, "good"),
    ]


@in_loop
async def test_a_hook_may_leave_messages_out(running: Cluster) -> None:
    class OnlyEven(Hook):
        def keep(self, group: str, message: ReceivedMessage) -> bool:
            if message.body == b"8":
                raise ValueError("a hook that fails leaves nothing out")
            return int(message.body) % 2 == 0

    topic, heard = fresh("T"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, handler=heard, hooks=[OnlyEven()], queue_messages=4)
    async with sender(running) as producer, PushConsumer(fresh("G"), **options) as consumer:
        await send(producer, topic, bodies(31), queue=queue)
        await until(lambda: consumer.stats().queues[queue].committed == 31, "the end of the queue")
    assert sorted(heard.bodies) == sorted(b"%d" % number for number in range(0, 31, 2))


@pytest.mark.shows("PC-03")
@in_loop
async def test_mistakes_are_said_at_once(running: Cluster) -> None:
    consumer = PushConsumer("G", nameserver=running.namesrv)
    with pytest.raises(ClientError, match=r"@consumer\.handler"):
        await consumer.start()
    consumer.handler(print)
    with pytest.raises(ClientError, match=r'subscribe=\{"topic": "\*"\}'):
        await consumer.start()
    with pytest.raises(ClientStopped, match="not running"):
        consumer.stats()
    await consumer.subscribe("T")
    async with consumer:
        with pytest.raises(ClientError, match="running already"):
            await consumer.start()
    await consumer.stop()


@in_loop
async def test_no_name_server_is_said() -> None:
    consumer = PushConsumer("G", nameserver="127.0.0.1:1", subscribe={"T": "*"}, handler=print)
    with pytest.raises(NoNameServer, match=r"127\.0\.0\.1:1"):
        await consumer.start()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size is a whole number from 1 to 1024"),
        ({"concurrency": 0}, "concurrency is a whole number from 1 to 1000"),
        ({"max_reconsume_times": -2}, "max_reconsume_times is a whole number of at least -1"),
        ({"consume_timeout": 0}, "consume_timeout is a number of seconds above 0"),
        ({"suspend": 60}, "suspend is a number of seconds from 0.01 to 30"),
        ({"pull_batch": 0}, "pull_batch is a whole number from 1 to 1024"),
        ({"queue_span": 0}, "queue_span is a whole number from 1 to 65535"),
        ({"pull_hold": 40.0}, "pull_timeout=30 has to be longer than pull_hold=40"),
        ({"commit_interval": 0}, "commit_interval is a number of seconds above 0"),
        ({"consume_from": "earliest"}, 'consume_from is "last", "first" or a datetime'),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=text):
        PushConsumer("G", nameserver="127.0.0.1:9876", **options)


def test_an_unknown_setting_and_a_bad_group_are_refused() -> None:
    with pytest.raises(TypeError, match="cosume_from"):
        PushConsumer("G", nameserver="127.0.0.1:9876", cosume_from="last")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="illegal characters"):
        PushConsumer("bad group", nameserver="127.0.0.1:9876")
