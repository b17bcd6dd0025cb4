"""Ordered consumption: a queue's messages one after the other, whoever reads the queue."""

import asyncio
import threading
from collections import defaultdict

import pytest

from tailfin import Queue, Retry
from tailfin._engine import ReceivedMessage
from tailfin.aio import AdminClient, PushConsumer
from tailfin.testing import Cluster
from tailfin.wire.codes import Code
from tests.unit.client.consumers import Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


class InOrder:
    """A handler that watches: never two messages of one queue at once, and offsets that only grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: set[Queue] = set()
        self.seen: dict[Queue, list[int]] = defaultdict(list)
        self.overlaps = 0

    def __call__(self, message: ReceivedMessage) -> None:
        queue = message.queue
        with self._lock:
            self.overlaps += queue in self._busy
            self._busy.add(queue)
            self.seen[queue].append(message.queue_offset)
        with self._lock:
            self._busy.discard(queue)

    @property
    def count(self) -> int:
        with self._lock:
            return sum(len(set(offsets)) for offsets in self.seen.values())


def of_topic(consumer: PushConsumer, topic: str) -> list[Queue]:
    return [queue for queue in consumer.queues if queue.topic == topic]


@pytest.mark.shows("PC-12", "OR-03")
@pytest.mark.parametrize("kind", ["function", "coroutine"])
@in_loop
async def test_each_queue_is_consumed_in_order(running: Cluster, kind: str) -> None:
    topic, watch = fresh("T"), InOrder()

    async def awaited(message: ReceivedMessage) -> None:
        watch(message)

    await made(running, topic)
    async with sender(running) as producer:
        await send(producer, topic, bodies(200))
        handler = watch if kind == "function" else awaited
        options = quick(running, subscribe={topic: "*"}, handler=handler, consume_from="first", orderly=True)
        async with PushConsumer(fresh("G"), **options):
            await until(lambda: watch.count == 200, "all messages")
    assert watch.overlaps == 0
    assert len(watch.seen) == 4
    assert all(offsets == sorted(offsets) for offsets in watch.seen.values())


@pytest.mark.shows("OR-05")
@in_loop
async def test_a_failed_message_keeps_those_behind_it_waiting_and_counts_its_tries(running: Cluster) -> None:
    topic = fresh("T")
    tries = list[int]()

    def act(message: ReceivedMessage) -> object:
        if message.body == b"1":
            tries.append(message.reconsume_times)
            if len(tries) == 2:
                return Retry()
            if len(tries) < 4:
                raise ValueError("not yet")
        return None

    heard = Heard(act)
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, bodies(4), queue=queue)
        options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from="first", orderly=True)
        async with PushConsumer(fresh("G"), **options):
            await until(lambda: len(heard.messages) == 7, "all messages")
    assert heard.bodies == [b"0", b"1", b"1", b"1", b"1", b"2", b"3"]
    assert tries == [0, 1, 2, 3]


@in_loop
async def test_beyond_its_limit_a_message_is_a_dead_letter_and_the_queue_goes_on(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    heard = Heard(lambda message: message.body != b"1")
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, bodies(3), queue=queue)
        options = quick(running, subscribe={topic: "*"}, consume_from="first", orderly=True)
        async with PushConsumer(group, handler=heard, max_reconsume_times=2, **options):
            await until(lambda: heard.bodies[-1:] == [b"2"], "the message behind it")
    assert heard.bodies == [b"0", b"1", b"1", b"1", b"2"]
    async with AdminClient(nameserver=running.namesrv) as admin, asyncio.timeout(15):
        while not (letters := await admin.dead_letters.list(group)):
            await asyncio.sleep(0.02)
    assert [letter.body for letter in letters] == [b"1"]


@in_loop
async def test_batches_stay_in_order(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    queue = (await made(running, topic))[0]
    async with sender(running) as producer:
        await send(producer, topic, bodies(50), queue=queue)
        options = quick(running, subscribe={topic: "*"}, handler=heard, consume_from="first", orderly=True)
        async with PushConsumer(fresh("G"), batch_size=7, **options):
            await until(lambda: len(heard.messages) == 50, "all messages")
    assert heard.bodies == bodies(50)


@pytest.mark.shows("OR-01", "OR-04")
@in_loop
async def test_a_queue_changes_hands_only_when_the_handler_is_through(running: Cluster) -> None:
    topic, group, begun, go_on = fresh("T"), fresh("G"), threading.Event(), threading.Event()

    def slow(message: ReceivedMessage) -> None:
        begun.set()
        go_on.wait(20)

    second = Heard()
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, consume_from="first", orderly=True)
    async with sender(running) as producer, PushConsumer(group, handler=slow, **options) as one:
        for queue in queues:
            await send(producer, topic, [b"slow", b"next"], queue=queue)
        await until(begun.is_set, "the handler's begin")
        await until(lambda: one.stats().running == 4, "a call for each queue")
        async with PushConsumer(group, handler=second, **options) as two:
            await until(lambda: len(of_topic(one, topic)) == 2, "the first giving queues up")
            # Its handlers still run: the second one must not have their queues.
            assert not of_topic(two, topic)
            go_on.set()
            await until(lambda: len(of_topic(two, topic)) == 2, "the second's share")
            await until(lambda: second.messages, "a message for the second")
    assert b"slow" not in second.bodies


@pytest.mark.shows("OR-03")
@in_loop
async def test_order_holds_as_members_come_and_go(running: Cluster) -> None:
    topic, group, watch = fresh("T"), fresh("G"), InOrder()
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=watch, consume_from="first", orderly=True)
    async with sender(running) as producer, PushConsumer(group, **options):
        for begin in (0, 40, 80):
            async with PushConsumer(group, **options) as other:
                await send(producer, topic, bodies(40, begin))
                await until(lambda: len(of_topic(other, topic)) == 2, "a share")
        await until(lambda: watch.count == 120, "all messages")
    assert watch.overlaps == 0
    assert all(offsets == sorted(set(offsets)) for offsets in watch.seen.values())


@in_loop
async def test_a_late_renewal_does_not_keep_a_lock_that_was_given_back(running: Cluster) -> None:
    topic, group = fresh("T"), fresh("G")
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=Heard(), orderly=True, lock_interval=0.05)
    async with PushConsumer(group, **options):
        with running.faults.slow(0.3, Code.LOCK_BATCH_MQ) as fault:
            await until(lambda: fault.met >= 2, "a renewal that is under way")
            async with PushConsumer(group, **options) as second:
                await until(lambda: len(of_topic(second, topic)) == 2, "the second's share")


@in_loop
async def test_a_failed_message_does_not_keep_a_queue_from_changing_hands(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    refused = Heard(lambda message: False)
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, consume_from="first", orderly=True)
    async with sender(running) as producer, PushConsumer(group, handler=refused, **options):
        for queue in queues:
            await send(producer, topic, [b"stubborn"], queue=queue)
        await until(
            lambda: len({message.queue for message in refused.messages}) == 4, "a failure in each queue"
        )
        async with PushConsumer(group, handler=heard, **options):
            await until(lambda: len(heard.messages) == 2, "the messages of the second's share")


@in_loop
async def test_a_clean_stop_leaves_nothing_to_read_again(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(
        running, subscribe={topic: "*"}, consume_from="first", orderly=True, commit_interval=3600.0
    )
    async with sender(running) as producer:
        await send(producer, topic, bodies(300), queue=queue)
        for _ in range(3):
            before = len(heard.messages)
            async with PushConsumer(group, handler=heard, **options):
                await until(lambda: len(heard.messages) > min(before + 20, 299), "some messages")  # noqa: B023
        async with PushConsumer(group, handler=heard, **options):
            await until(lambda: len(heard.messages) >= 300, "all messages")
    assert heard.bodies == bodies(300)
