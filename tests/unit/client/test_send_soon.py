"""Messages that are sent together, with a real cluster."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import tailfin
from tailfin import Message, aio
from tailfin.client.errors import MessageRefused, NoRoute, SendFailed
from tailfin.client.hooks import Hook, Sending
from tailfin.testing import Cluster, cluster, until
from tests.unit import loops
from tests.unit.client.reading import bodies, stored
from tests.unit.loops import in_loop


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as node:
        yield node


def test_messages_travel_together_and_every_one_has_its_result(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=running.namesrv) as producer:
            receipts = [await producer.send_soon(Message("soon", b"%d" % number)) for number in range(500)]
            results = [await receipt for receipt in receipts]
            assert all(receipt.done for receipt in receipts)
            assert producer.stats().sent == 500
        assert len({each.message_id for each in results}) == 500
        await loops.until(lambda: len(stored(running, "soon")) == 500, "all messages")
        places = {(each.queue_id, each.queue_offset): each.body for each in stored(running, "soon")}
        for number, result in enumerate(results):
            assert places[result.queue.queue_id, result.queue_offset] == b"%d" % number
        assert {each.queue.topic for each in results} == {"soon"}

    check()


def test_several_can_wait_for_one_receipt(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=running.namesrv, linger=0.05) as producer:
            receipt = await producer.send_soon(Message("shared", b"x"))

            async def wait() -> tailfin.SendResult:
                return await receipt

            first, second = await asyncio.gather(wait(), wait())
            assert first == second == await receipt

    check()


def test_a_blocking_producer_collects_its_receipts(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        receipts = [producer.send_soon(Message("blocking", b"%d" % number)) for number in range(500)]
        results = [receipt.result(timeout=20) for receipt in receipts]
        assert producer.stats().sent == 500
        assert producer.flush(timeout=20)
    assert len({each.message_id for each in results}) == 500
    until(lambda: len(stored(running, "blocking")) == 500)


def test_what_is_under_way_at_the_stop_arrives(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, linger=60.0) as producer:
        producer.send_soon(Message("last", b"x"))
    until(lambda: bodies(running, "last") == [b"x"])


def test_a_flush_ends_the_linger(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=running.namesrv, linger=60.0) as producer:
            receipt = await producer.send_soon(Message("flushed", b"x"))
            assert not receipt.done
            assert await producer.flush(timeout=20)
            assert receipt.done

    check()


def test_a_receipt_that_is_not_done_says_so_in_time(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, linger=60.0) as producer:
        receipt = producer.send_soon(Message("flushed", b"x"))
        with pytest.raises(TimeoutError, match="still on its way"):
            receipt.result(timeout=0.01)
        producer.flush()
        assert receipt.result().status is tailfin.SendStatus.SEND_OK


def test_full_buffers_make_senders_wait_and_nothing_is_refused(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=running.namesrv, buffer_bytes=4096) as producer:
            receipts = [await producer.send_soon(Message("tight", b"x" * 500)) for _ in range(200)]
            for receipt in receipts:
                await receipt

    check()
    with tailfin.Producer("shop", nameserver=running.namesrv, buffer_bytes=4096) as producer:
        for receipt in [producer.send_soon(Message("tight", b"x" * 500)) for _ in range(200)]:
            receipt.result()
    until(lambda: len(stored(running, "tight")) == 400)


def test_a_chosen_queue_and_hooks_are_heeded(running: Cluster) -> None:
    class Watching(Hook):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def after_send(self, sending: Sending) -> None:
            assert sending.result
            self.seen.append(sending.mode)

    hook = Watching()
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        queues = producer.queues("chosen")
        receipts = [producer.send_soon(Message("chosen", b"x"), queue=queues[3]) for _ in range(5)]
        assert {each.result().queue for each in receipts} == {queues[3]}
    with tailfin.Producer("shop", nameserver=running.namesrv, hooks=[hook]) as producer:
        assert producer.send_soon(Message("chosen", b"x")).result().queue in queues
    assert hook.seen == ["async"]


def test_what_no_broker_would_take_is_refused_at_once(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, max_message_size=10) as producer:
        with pytest.raises(MessageRefused, match="body length is zero"):
            producer.send_soon(Message("soon", b""))
        with pytest.raises(MessageRefused, match="max_message_size"):
            producer.send_soon(Message("soon", b"x" * 11))
        with pytest.raises(MessageRefused, match="illegal characters"):
            producer.send_soon(Message("not so", b"x"))


def test_a_topic_that_nobody_creates_is_said() -> None:
    with (
        cluster(autoCreateTopicEnable=False) as node,
        tailfin.Producer("shop", nameserver=node.namesrv) as producer,
        pytest.raises(NoRoute, match=r"topics\.create\('nowhere'\)"),
    ):
        producer.send_soon(Message("nowhere", b"x"))


def test_a_lost_parcel_is_sent_again(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, timeout=6.0) as producer:
        producer.queues("lossy")
        with running.faults.drop("send", times=1) as fault:
            receipts = [producer.send_soon(Message("lossy", b"%d" % number)) for number in range(10)]
            for receipt in receipts:
                receipt.result(timeout=20)
        assert fault.met == 1
        assert producer.stats().retried == 1
        assert producer.stats().failed == 0
    until(lambda: len(stored(running, "lossy")) == 10)


def test_a_parcel_that_nobody_takes_fails_for_all_its_messages(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, timeout=0.2, retries=1) as producer:
        producer.queues("mute")
        with running.faults.drop("send"):
            receipts = [producer.send_soon(Message("mute", b"%d" % number)) for number in range(10)]
            for receipt in receipts:
                with pytest.raises(SendFailed, match="no acknowledgement within"):
                    receipt.result(timeout=20)
            assert all("no acknowledgement within" in str(each.exception()) for each in receipts)
        assert producer.stats().failed == 10
        assert producer.stats().sent == 0


@pytest.mark.parametrize("chosen", [False, True], ids=["together", "alone"])
def test_those_who_care_about_failures_only_are_told_none(running: Cluster, chosen: bool) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        queue = producer.queues("fine")[0] if chosen else None
        receipts = [producer.send_soon(Message("fine", b"x"), queue=queue) for _ in range(10)]
        assert [receipt.exception(timeout=20) for receipt in receipts] == [None] * 10

    async def awaited() -> None:
        async with aio.Producer("shop", nameserver=running.namesrv) as producer:
            queue = (await producer.queues("fine"))[0] if chosen else None
            assert await (await producer.send_soon(Message("fine", b"x"), queue=queue)).exception() is None

    asyncio.run(awaited())


def test_a_namespace_is_kept_from_the_user(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, namespace="north") as producer:
        assert producer.send_soon(Message("soon", b"x")).result().queue.topic == "soon"
    until(lambda: bodies(running, "north%soon") == [b"x"])


@pytest.mark.timeout(120)
def test_when_one_of_two_brokers_dies_nothing_acknowledged_is_lost_and_sends_go_on() -> None:
    with cluster(brokers=2) as node:
        with tailfin.Producer("shop", nameserver=node.namesrv, timeout=30.0) as producer:
            producer.queues("deadly")
            receipts = {}
            for number in range(3000):
                if number == 1000:
                    node.faults.kill("broker-b")
                body = b"%d" % number
                receipts[body] = producer.send_soon(Message("deadly", body))
            for receipt in receipts.values():
                receipt.result(timeout=60)
            node.faults.restart("broker-b")
        until(lambda: receipts.keys() <= set(bodies(node, "deadly")), 20)


def test_the_only_broker_may_be_away_for_a_moment() -> None:
    with cluster() as node, ThreadPoolExecutor(1) as threads:
        with tailfin.Producer("shop", nameserver=node.namesrv, timeout=20.0, retries=9) as producer:
            producer.send(Message("patient", b"before"))
            node.faults.kill()
            soon = producer.send_soon(Message("patient", b"soon"))
            now = threads.submit(producer.send, Message("patient", b"now"))
            node.faults.restart()
            assert soon.result(timeout=25).status is tailfin.SendStatus.SEND_OK
            assert now.result(timeout=25).status is tailfin.SendStatus.SEND_OK
        until(lambda: {b"before", b"soon", b"now"} <= set(bodies(node, "patient")), 20)


def test_every_receipt_ends_when_the_producer_stops_between_two_tries() -> None:
    with cluster() as lonely:
        producer = tailfin.Producer("shop", nameserver=lonely.namesrv, timeout=60, stop_timeout=0.1)
        producer.start()
        producer.send(Message("waits", b"x"))
        lonely.faults.kill()
        receipt = producer.send_soon(Message("waits", b"y"))
        until(lambda: producer.stats().retried)
        producer.stop()
        assert isinstance(receipt.exception(timeout=10), SendFailed)


def test_messages_that_are_given_up_are_in_the_log_even_if_nobody_asks(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv, timeout=0.2, retries=0) as producer:
        producer.send(Message("unasked", b"x"), timeout=10)
        with running.faults.drop("send"):
            producer.send_soon(Message("unasked", b"y"))
            producer.send_soon(Message("unasked", b"z"), sharding_key="k")
            assert producer.flush(20)
    told = re.findall(r"(\d+) messages of send_soon were given up", caplog.text)
    assert sum(map(int, told)) == 2
