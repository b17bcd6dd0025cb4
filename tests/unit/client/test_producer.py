"""Producers and a real cluster, awaited."""

import asyncio
import random
from collections.abc import Iterator

import pytest

import tailfin
from tailfin.aio import Producer
from tailfin.client.checking import check_batch, check_message
from tailfin.client.errors import ClientError, ClientStopped, MessageRefused, NoRoute, SendFailed, SendTimeout
from tailfin.client.hooks import Hook, Sending
from tailfin.client.messages import Message
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult, SendStatus
from tailfin.errors import ConfigError
from tailfin.testing import Cluster, cluster
from tailfin.wire.bodies.topics import Perm
from tailfin.wire.codes import ResponseCode
from tests.unit.client.reading import bodies, stored
from tests.unit.loops import in_loop, until


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as node:
        yield node


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    with cluster(brokers=2) as node:
        yield node


async def stored_soon(running: Cluster, topic: str, count: int) -> None:
    await until(lambda: len(stored(running, topic)) == count, f"{count} messages in {topic}")


@pytest.mark.shows("PR-10", "PR-18")
def test_a_sent_message_is_stored_as_it_was_made(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            message = Message(
                "orders", b"paid 42", tags="paid", keys=["42", "k"], properties={"colour": "blue"}, flag=7
            )
            result = await producer.send(message)
        await stored_soon(running, "orders", 1)
        (found,) = stored(running, "orders")
        assert result == SendResult(
            SendStatus.SEND_OK,
            found.unique_key or "",
            found.message_id,
            Queue("orders", "broker-a", found.queue_id),
            found.queue_offset,
            transaction_id=result.transaction_id,
        )
        assert (found.body, found.tags, found.keys, found.flag) == (b"paid 42", "paid", "42 k", 7)
        assert found.get_property("colour") == "blue"
        assert found.get_property("WAIT") == "true"

    check()


@pytest.mark.shows("LB-02")
def test_messages_go_round_all_queues_of_all_brokers(pair: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=pair.namesrv) as producer:
            queues = await producer.queues("round")
            assert len(queues) == 8
            results = [await producer.send(Message("round", b"x")) for _ in range(16)]
        assert sorted(each.queue for each in results) == sorted(queues * 2)

    check()


@pytest.mark.shows("PR-15", "PR-17")
def test_a_message_goes_to_the_queue_that_is_asked_for(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            queues = await producer.queues("chosen")
            to_queue = await producer.send(Message("chosen", b"x"), queue=queues[2])
            by_key = [await producer.send(Message("chosen", b"x"), sharding_key="ab") for _ in range(3)]
            selected = await producer.send(
                Message("chosen", b"x"), select=lambda offered, message: offered[-1]
            )
        assert to_queue.queue == queues[2]
        assert {each.queue for each in by_key} == {queues[1]}
        assert selected.queue == queues[-1]

    check()


@in_loop
async def test_what_cannot_be_sent_is_refused_before_anything_travels() -> None:
    # Nobody listens there: a refusal that needed the network would be another one.
    async with Producer("shop", nameserver="127.0.0.1:1", max_message_size=10) as producer:
        with pytest.raises(MessageRefused, match="MAX: 10"):
            await producer.send(Message("T", b"x" * 11))
        with pytest.raises(MessageRefused, match="cannot go to"):
            await producer.send(Message("T", b"x"), queue=Queue("U", "a", 0))
        with pytest.raises(MessageRefused, match="message 1 of the batch"):
            await producer.send_batch([Message("T", b"x"), Message("T", b"")])
        with pytest.raises(TypeError, match="one of queue, sharding_key and select"):
            await producer.send(
                Message("T", b"x"), sharding_key="a", select=lambda queues, message: queues[0]
            )
        with pytest.raises(ValueError, match="timeout is a number of seconds above 0"):
            await producer.send(Message("T", b"x"), timeout=0)
        with pytest.raises(ValueError, match="timeout is a number of seconds above 0, not '3'"):
            await producer.send(Message("T", b"x"), timeout="3")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"queue is one of producer\.queues\(topic\), or .* not 3"):
            await producer.send(Message("T", b"x"), queue=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="sharding_key is text, not 7: make it so by str"):
            await producer.send(Message("T", b"x"), sharding_key=7)  # type: ignore[arg-type]


def test_a_selector_that_returns_something_else_is_told_so(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            with pytest.raises(MessageRefused, match="none of the queues it was given"):
                await producer.send(Message("chosen", b"x"), select=lambda *_: Queue("chosen", "nowhere", 0))

    check()


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"nameserver": ""}, ConfigError, "no name server"),
        ({"retries": -1}, ConfigError, "retries is a whole number of at least 0, not -1"),
        ({"compression": "rar"}, ConfigError, "compression is zlib, lz4, zstd or none"),
        ({"timeout": 0}, ConfigError, "timeout is a number of seconds above 0"),
        ({"tiemout": 3}, TypeError, "tiemout"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(
    keywords: dict[str, object], error: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(error, match=text):
        Producer("shop", **{"nameserver": "127.0.0.1:1", **keywords})  # type: ignore[arg-type]  # on purpose


@in_loop
async def test_a_producer_that_is_not_running_says_how_to_start_it() -> None:
    producer = Producer("shop", nameserver="127.0.0.1:1")
    for _ in range(2):
        with pytest.raises(ClientStopped, match=r"call start\(\)"):
            await producer.send(Message("T", b"x"))
        await producer.start()
        await producer.stop()


def test_a_producer_can_be_started_again(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        producer = Producer("shop", nameserver=running.namesrv)
        for _ in range(2):
            async with producer:
                await producer.send(Message("again", b"x"))
        await stored_soon(running, "again", 2)

    check()


@pytest.mark.shows("PR-16")
def test_a_batch_is_cut_where_it_gets_too_large(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        texts = [b"%03d" % number * 40 for number in range(20)]
        async with Producer("shop", nameserver=running.namesrv, max_message_size=1000) as producer:
            results = await producer.send_batch([Message("many", text) for text in texts])
        assert len(results) == 20
        assert len({each.message_id for each in results}) == 20
        await stored_soon(running, "many", 20)
        assert bodies(running, "many") == texts
        places = {(each.queue.queue_id, each.queue_offset): each.offset_message_id for each in results}
        assert places == {
            (each.queue_id, each.queue_offset): each.message_id for each in stored(running, "many")
        }
        assert len({each.queue for each in results}) > 1

    check()


def test_a_oneway_message_arrives_and_nobody_is_told(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            await producer.send_oneway(Message("hints", b"psst"))
            await stored_soon(running, "hints", 1)

    check()


@pytest.mark.shows("PR-11")
def test_a_namespace_is_in_the_stored_topic_and_not_in_the_users(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv, namespace="north") as producer:
            assert producer.group == "north%shop"
            result = await producer.send(Message("orders", b"x"))
            assert {each.topic for each in await producer.queues("orders")} == {"orders"}
            chosen = await producer.send(Message("orders", b"x"), queue=result.queue)
        assert result.queue.topic == chosen.queue.topic == "orders"
        await stored_soon(running, "north%orders", 2)
        assert stored(running, "north%orders")[0].get_property("INSTANCE_ID") == "north"

    check()


@pytest.mark.shows("PR-12")
def test_a_large_body_travels_compressed_and_the_users_message_stays(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        message = Message("large", b"tailfin " * 10_000)
        async with Producer("shop", nameserver=running.namesrv) as producer:
            await producer.send(message)
        await stored_soon(running, "large", 1)
        (found,) = stored(running, "large")
        assert found.sys_flag & 1
        assert len(found.body) < 10_000
        assert message.body == b"tailfin " * 10_000

    check()


class Watching(Hook):
    """Notes what it sees; refuses what is in a topic."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.seen: list[tuple[str, object]] = []

    def check_forbidden(self, sending: Sending) -> None:
        if sending.message.topic == self.refuses:
            raise PermissionError("not this one")

    def before_send(self, sending: Sending) -> None:
        self.seen.append(("before", sending.mode))
        sending.notes["mine"] = 1

    def after_send(self, sending: Sending) -> None:
        assert sending.notes["mine"] == 1
        self.seen.append(("after", sending.result.queue if sending.result else type(sending.error)))


@pytest.mark.shows("PR-13")
def test_hooks_see_a_send_before_and_after_and_can_forbid_it(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        hook = Watching(refuses="secret")
        async with Producer("shop", nameserver=running.namesrv, hooks=[hook]) as producer:
            result = await producer.send(Message("open", b"x"))
            with pytest.raises(PermissionError, match="not this one"):
                await producer.send(Message("secret", b"x"))
            with pytest.raises(SendTimeout), running.faults.drop("send"):
                await producer.send(Message("open", b"x"), timeout=0.05)
        assert hook.seen == [
            ("before", "sync"),
            ("after", result.queue),
            ("before", "sync"),
            ("after", SendTimeout),
        ]

    check()


def test_a_hook_that_fails_does_not_stop_a_send(running: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Hook):
        def before_send(self, sending: Sending) -> None:
            raise LookupError("broken hook")

    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv, hooks=[Broken()]) as producer:
            assert (await producer.send(Message("open", b"x"))).status is SendStatus.SEND_OK

    check()
    assert "broken hook" in caplog.text


@pytest.mark.shows("PR-19")
def test_a_lost_request_is_sent_again_within_the_time(pair: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=pair.namesrv) as producer:
            await producer.queues("lossy")
            with pair.faults.drop("send", times=1) as fault:
                result = await producer.send(Message("lossy", b"x"), timeout=6.0)
            assert fault.met == 1
            assert result.status is SendStatus.SEND_OK
            assert producer.stats().retried == 1

    check()


def test_a_send_that_nobody_answers_says_so_in_time(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            await producer.queues("mute")
            with (
                running.faults.drop("send"),
                pytest.raises(SendTimeout, match="no acknowledgement within") as caught,
            ):
                await producer.send(Message("mute", b"x"), timeout=0.2)
            assert caught.value.code == ResponseCode.RPC_TIME_OUT
            assert producer.stats().failed == 1

    check()


def test_a_send_to_a_chosen_queue_is_tried_once(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            queues = await producer.queues("mute")
            with running.faults.drop("send"), pytest.raises(SendTimeout, match="tried once"):
                await producer.send(Message("mute", b"x"), queue=queues[0], timeout=0.05)

    check()


@pytest.mark.shows("PR-09")
@pytest.mark.parametrize("kind", ["awaited", "blocking"])
def test_a_broker_whose_address_is_unknown_is_looked_for_once(pair: Cluster, kind: str) -> None:
    topic = f"grows-{kind}"
    with tailfin.AdminClient(nameserver=pair.namesrv) as admin:
        admin.topics.create(topic, queues=1, broker="broker-a")

        def grow() -> Queue:
            admin.topics.create(topic, queues=1, broker="broker-b")
            return Queue(topic, "broker-b", 0)

        @in_loop
        async def check() -> None:
            async with Producer("shop", nameserver=pair.namesrv) as producer:
                assert len(await producer.queues(topic)) == 1
                queue = await asyncio.to_thread(grow)
                assert (await producer.send(Message(topic, b"x"), queue=queue)).queue == queue
                with pytest.raises(SendFailed, match="no address of broker 'broker-z'"):
                    await producer.send(Message(topic, b"x"), queue=Queue(topic, "broker-z", 0))

        if kind == "awaited":
            check()
            return
        with tailfin.Producer("shop", nameserver=pair.namesrv) as producer:
            assert len(producer.queues(topic)) == 1
            queue = grow()
            assert producer.send(Message(topic, b"x"), queue=queue).queue == queue


def test_a_broker_that_did_not_answer_is_left_alone_when_asked_to(pair: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=pair.namesrv, avoid_slow_brokers=True) as producer:
            await producer.queues("careful")
            with pair.faults.drop("send", broker="broker-a"):
                results = [await producer.send(Message("careful", b"x"), timeout=6.0) for _ in range(20)]
            assert {each.queue.broker for each in results} == {"broker-b"}
            assert producer.stats().retried <= 1

    check()


def test_sends_go_on_when_one_of_two_brokers_dies_and_none_that_was_acknowledged_is_lost() -> None:
    with cluster(brokers=2) as node:

        @in_loop
        async def check() -> None:
            async with Producer("shop", nameserver=node.namesrv, timeout=10.0) as producer:
                await producer.queues("deadly")
                acknowledged: list[bytes] = []

                async def send(number: int) -> None:
                    body = b"%d" % number
                    await producer.send(Message("deadly", body))
                    acknowledged.append(body)

                for start in range(0, 300, 20):
                    if start == 100:
                        killing = asyncio.create_task(asyncio.to_thread(node.faults.kill, "broker-b"))
                    await asyncio.gather(*(send(number) for number in range(start, start + 20)))
                await killing
                await asyncio.to_thread(node.faults.restart, "broker-b")
                assert len(acknowledged) == 300
                await until(
                    lambda: set(acknowledged) <= set(bodies(node, "deadly")), "every acknowledged message", 20
                )

        check()


def test_a_missing_topic_nobody_creates_is_said() -> None:
    with cluster(autoCreateTopicEnable=False) as node:

        @in_loop
        async def check() -> None:
            async with Producer("shop", nameserver=node.namesrv) as producer:
                with pytest.raises(NoRoute, match=r"topics\.create\('nowhere'\)"):
                    await producer.send(Message("nowhere", b"x"))

        check()


@pytest.mark.parametrize("soon", [False, True], ids=["send", "send_soon"])
def test_a_topic_that_takes_messages_again_is_found_at_once(running: Cluster, soon: bool) -> None:
    topic = f"closed-for-a-while-{soon}"

    def send(producer: tailfin.Producer) -> None:
        message = Message(topic, b"body")
        _ = producer.send_soon(message).result(20.0) if soon else producer.send(message)

    with (
        tailfin.AdminClient(nameserver=running.namesrv) as admin,
        tailfin.Producer(
            "patient", nameserver=running.namesrv, timeout=20.0, route_interval=1000.0
        ) as producer,
    ):
        admin.topics.create(topic, queues=1, perm=Perm.READ)
        with pytest.raises(NoRoute, match="none of its queues takes messages"):
            send(producer)
        admin.topics.update(topic, perm=Perm.READ | Perm.WRITE)
        send(producer)


def test_a_refusal_of_the_broker_is_raised_with_its_code(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv, max_message_size=8 << 20) as producer:
            body = random.Random(1).randbytes(5 << 20)
            with pytest.raises(SendFailed, match="tried once") as caught:
                await producer.send(Message("large", body), queue=Queue("large", "broker-a", 0))
            assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL

    check()


def test_a_stop_waits_for_what_is_under_way(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        producer = Producer("shop", nameserver=running.namesrv)
        await producer.start()
        await producer.queues("last")
        with running.faults.slow(0.2, "send", times=1):
            sending = asyncio.create_task(producer.send(Message("last", b"x")))
            await until(lambda: producer.stats().pending == 1, "the send is under way")
            await producer.stop()
        assert (await sending).status is SendStatus.SEND_OK

    check()


def test_a_host_may_have_any_name(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv, host="till-3.shop") as producer:
            assert len((await producer.send(Message("named", b"x"))).message_id) == 32

    check()


def test_sends_that_a_stop_does_not_wait_for_end_with_it(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        producer = Producer("shop", nameserver=running.namesrv, timeout=60, stop_timeout=0.1)
        await producer.start()
        await producer.queues("cut-off")
        with running.faults.drop("send"):
            sends = [asyncio.create_task(producer.send(Message("cut-off", b"x"))) for _ in range(600)]
            await until(lambda: producer.stats().pending == 600, "all are under way")
            await producer.stop()
            outcomes = await asyncio.wait_for(asyncio.gather(*sends, return_exceptions=True), 15)
        assert {type(each) for each in outcomes} == {SendFailed}
        assert "the client is stopped" in str(outcomes[0])

    check()


def test_what_is_not_a_message_is_told_so() -> None:
    for sent in (b"text", None):
        with pytest.raises(TypeError, match=r"a tailfin\.Message"):
            check_message(sent)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"of tailfin\.Message"):
        check_batch([b"text"])  # type: ignore[list-item]


def test_a_producer_belongs_to_the_loop_it_was_started_in(running: Cluster) -> None:
    async def elsewhere(producer: Producer) -> None:
        for sending in (producer.send(Message("loops", b"x")), producer.send_soon(Message("loops", b"x"))):
            with pytest.raises(ClientError, match="another event loop"):
                await sending

    @in_loop
    async def check() -> None:
        async with Producer("shop", nameserver=running.namesrv) as producer:
            await producer.send(Message("loops", b"x"))
            await asyncio.to_thread(asyncio.run, elsewhere(producer))

    check()
