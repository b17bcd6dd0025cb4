"""What the engine's outbox sends, and what it says when that fails, against a real broker."""

import os
import select
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tailfin._engine import Courier, Outbox, OutgoingMessage, Parcel, Promise, Receipt
from tailfin.client.errors import SendFailed
from tailfin.client.results import SendResult, SendStatus, result_of
from tailfin.store import Store
from tailfin.testing import Cluster, cluster, until
from tailfin.wire.codes import ResponseCode
from tests.unit.client.engines import courier, ended, outbox

Message = OutgoingMessage


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(autoCreateTopicEnable=True, defaultTopicQueueNums=4) as node:
        yield node


@pytest.fixture
def carrying() -> Iterator[Courier]:
    with courier() as made:
        yield made


def queues(running: Cluster, count: int = 4) -> list[tuple[str, str, int]]:
    broker = running.broker
    return [(broker.address, broker.config.brokerName, number) for number in range(count)]


def posting(carrying: Courier, running: Cluster, topic: str, **options: int | bool | str) -> Outbox:
    made = outbox(carrying, **options)
    made.set_route(topic, queues(running))
    return made


def stored(store: Store, topic: str) -> list[tuple[int, int, bytes, dict[str, str]]]:
    """Everything of a topic: queue, offset, body and properties."""
    found = []
    for queue in range(4):
        for at in range(store.max_offset(topic, queue)):
            message = store.read(topic, queue, at, 1)[0]
            found.append((queue, message.queue_offset, message.body, message.properties))
    return found


def wait_for(running: Cluster, topic: str, count: int) -> list[tuple[int, int, bytes, dict[str, str]]]:
    """A message can be read only a moment after its send was answered."""
    store = running.broker.store
    until(lambda: sum(store.max_offset(topic, queue) for queue in range(4)) >= count)
    return stored(store, topic)


def posted(box: Outbox, message: OutgoingMessage) -> Receipt:
    receipt = box.try_post(message)
    assert receipt
    return receipt


def judge(receipt: Receipt) -> SendResult | SendFailed:
    """What a producer says of a receipt, as far as these tests need it."""
    if receipt.code == 0:
        return result_of(receipt, receipt.topic)
    return SendFailed(receipt.remark, code=receipt.code or 0, tries=receipt.tries)


def taken(carrying: Courier) -> object:
    """The next thing that Python has to look at."""
    readable, _, _ = select.select([carrying.fileno()], [], [], 20.0)
    assert readable, "nothing to take within 20 s"
    (found,) = carrying.take(1)
    return found


def failed(carrying: Courier) -> Parcel:
    found = taken(carrying)
    assert isinstance(found, Parcel)
    return found


def test_a_single_send_says_where_the_message_is(running: Cluster, carrying: Courier) -> None:
    message = Message("single", b"hello", tags="a", keys=["k1", "k2"], properties={"x": "y"}, flag=7)
    address, broker, _ = queues(running)[0]
    receipt = ended(outbox(carrying).send(message, address, broker, 2, 3000))
    assert (receipt.code, receipt.broker, receipt.queue_id, receipt.queue_offset) == (0, broker, 2, 0)
    assert len(receipt.message_id) == len(receipt.offset_message_id) == 32
    assert (receipt.transaction_id, receipt.trace_on) == (receipt.message_id, True)
    ((queue, offset, body, properties),) = wait_for(running, "single", 1)
    assert (queue, offset, body) == (2, 0, b"hello")
    assert properties["UNIQ_KEY"] == receipt.message_id
    assert [properties[name] for name in ("TAGS", "KEYS", "WAIT", "x")] == ["a", "k1 k2", "true", "y"]


def test_posts_are_collected_and_every_receipt_knows_its_place(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "collected", linger_ms=3_600_000, batch_count=100)
    receipts = [posted(box, Message("collected", b"%d" % number, tags="t")) for number in range(1000)]
    assert box.flush(20.0)
    assert box.pending() == box.pending_bytes() == 0
    assert all(receipt.done and receipt.code == 0 for receipt in receipts)
    by_place = {
        (queue, offset): (body, properties["UNIQ_KEY"])
        for queue, offset, body, properties in wait_for(running, "collected", 1000)
    }
    assert len(by_place) == 1000
    for number, receipt in enumerate(receipts):
        place = by_place[receipt.queue_id, receipt.queue_offset]
        assert place == (b"%d" % number, receipt.message_id)
    assert {queue for queue, _ in by_place} == {0, 1, 2, 3}
    assert {receipt.parcel.count for receipt in receipts} == {100}
    assert len({receipt.offset_message_id for receipt in receipts}) == 1000


def test_a_message_that_finds_no_company_goes_alone_after_its_linger(
    running: Cluster, carrying: Courier
) -> None:
    for linger in (0, 20):
        box = posting(carrying, running, "lonely", linger_ms=linger)
        receipt = ended(posted(box, Message("lonely", b"x")))
        assert (receipt.code, receipt.parcel.count) == (0, 1)
    assert len(wait_for(running, "lonely", 2)) == 2


@pytest.mark.parametrize(
    "message",
    [
        Message("apart", b"x", delay_level=1),
        Message("apart", b"x", delay=60.0),
        Message("apart", b"x", properties={"TRAN_MSG": "true", "PGROUP": "senders"}),
        Message("apart", b"x" * 4096),
    ],
    ids=["level", "timed", "transaction", "long"],
)
def test_what_cannot_be_in_a_batch_travels_alone(
    running: Cluster, carrying: Courier, message: OutgoingMessage
) -> None:
    box = posting(carrying, running, "apart", linger_ms=3_600_000, compression="zlib")
    companion = posted(box, Message("apart", b"y"))
    assert ended(posted(box, message)).code == 0
    assert not companion.done
    assert box.flush(20.0)
    assert companion.code == 0


def test_waiting_and_hasty_messages_do_not_share_a_batch(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "haste", linger_ms=3_600_000)
    receipts = [posted(box, Message("haste", b"x", wait=number % 2 == 0)) for number in range(4)]
    assert box.flush(20.0)
    assert [receipt.parcel.count for receipt in receipts] == [1, 1, 1, 1]
    assert sorted(each[3]["WAIT"] for each in wait_for(running, "haste", 4)) == [
        "false",
        "false",
        "true",
        "true",
    ]


def test_long_bodies_are_compressed(running: Cluster, carrying: Courier) -> None:
    address, broker, _ = queues(running)[0]
    for number, name in enumerate(["zlib", "lz4", "zstd"]):
        box = outbox(carrying, compression=name)
        receipt = ended(box.send(Message("compressed", b"a" * 100_000), address, broker, number, 3000))
        assert receipt.code == 0
        store = running.broker.store
        assert store.wait_for("compressed", number, 0, 20.0)
        message = store.read("compressed", number, 0, 1)[0]
        assert len(message.body) < 5000
        assert message.sys_flag & 0x701 == 1 | {"lz4": 1, "zstd": 2, "zlib": 3}[name] << 8


def test_a_batch_is_one_request(running: Cluster, carrying: Courier) -> None:
    address, broker, _ = queues(running)[0]
    messages = [Message("batch", b"%d" % number) for number in range(3)]
    receipts = outbox(carrying).send_batch(messages, address, broker, 1, 3000)
    assert [ended(each).queue_offset for each in receipts] == [0, 1, 2]
    assert [each[2] for each in wait_for(running, "batch", 3)] == [b"0", b"1", b"2"]


def test_messages_that_cannot_be_one_batch_are_refused(running: Cluster, carrying: Courier) -> None:
    address, broker, _ = queues(running)[0]
    box = outbox(carrying)
    first = Message("T", b"x")
    for messages, said in [
        ([], "needs messages"),
        ([first, Message("U", b"x")], "message 1 has another topic"),
        ([first, Message("T", b"x", delay_level=2)], "message 1 cannot be in a batch"),
        ([first, Message("T", b"x", wait=False)], "message 1 cannot be in a batch"),
        ([first, Message("T", b"")], "zero"),
    ]:
        with pytest.raises(ValueError, match=said):
            box.send_batch(messages, address, broker, 0, 3000)
    assert box.pending() == 0


def test_a_oneway_message_is_stored_without_an_answer(running: Cluster, carrying: Courier) -> None:
    address, broker, _ = queues(running)[0]
    receipt = outbox(carrying).send(Message("oneway", b"x"), address, broker, 0, 3000, oneway=True)
    assert ended(receipt).code == 0
    assert receipt.queue_offset == -1
    assert wait_for(running, "oneway", 1)[0][2] == b"x"


def test_a_binary_header_is_understood_too(running: Cluster) -> None:
    with courier(binary=True) as carrying:
        address, broker, _ = queues(running)[0]
        message = Message("binary", b"x", keys="ü")
        assert ended(outbox(carrying).send(message, address, broker, 0, 3000)).code == 0
        assert wait_for(running, "binary", 1)[0][3]["KEYS"] == "ü"


def test_a_namespace_shows_in_topic_and_properties(running: Cluster, carrying: Courier) -> None:
    box = outbox(carrying, instance_id="shop")
    box.set_route("orders", queues(running), wire_topic="shop%orders")
    assert ended(posted(box, Message("orders", b"x"))).topic == "shop%orders"
    assert wait_for(running, "shop%orders", 1)[0][3]["INSTANCE_ID"] == "shop"


def test_a_topic_without_a_route_is_none(carrying: Courier) -> None:
    box = outbox(carrying)
    assert box.post(judge, Message("nowhere", b"x")) is None
    assert box.try_post(Message("nowhere", b"x")) is None
    assert box.pending() == 0


def test_a_key_of_ones_own_is_kept(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "keyed", linger_ms=3_600_000)
    message = Message("keyed", b"x")
    key = box.stamp(message)
    assert (box.stamp(message), message.properties["UNIQ_KEY"]) == (key, key)
    receipts = [posted(box, Message("keyed", b"y")), posted(box, message)]
    assert box.flush(20.0)
    assert receipts[1].message_id == key
    assert {each[3]["UNIQ_KEY"] for each in wait_for(running, "keyed", 2)} == {key, receipts[0].message_id}


def test_a_watched_receipt_is_taken_when_it_is_done(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "watched", linger_ms=0)
    early = posted(box, Message("watched", b"x"))
    early.watch()
    assert taken(carrying) is early
    assert early.done
    early.watch()
    assert taken(carrying) is early
    assert carrying.take() == []


def test_a_refused_parcel_waits_for_a_decision(running: Cluster, carrying: Courier) -> None:
    box = outbox(carrying, linger_ms=0)
    address, broker, _ = queues(running)[0]
    box.set_route("decided", [(address, broker, 99)])
    receipt = posted(box, Message("decided", b"x"))
    parcel = failed(carrying)
    assert (parcel.topic, parcel.count, parcel.queue_id, parcel.tries) == ("decided", 1, 99, 1)
    assert parcel.code not in (None, 0)
    assert parcel.remark
    assert parcel.outbox == box
    assert not receipt.done
    assert box.pending() == 1
    assert box.retry(parcel, address, broker, 0, 3000)
    assert ended(receipt).code == 0
    assert (receipt.tries, receipt.queue_id) == (2, 0)
    assert not box.retry(parcel, address, broker, 0, 3000)
    given_up = posted(box, Message("decided", b"y"))
    parcel = failed(carrying)
    box.give_up(parcel)
    assert ended(given_up).code == parcel.code
    assert box.flush(20.0)
    assert box.pending() == 0


def test_the_failure_of_a_send_is_its_answer_and_can_be_tried_again(
    running: Cluster, carrying: Courier
) -> None:
    address, broker, _ = queues(running)[0]
    box = outbox(carrying)
    receipt = ended(box.send(Message("again", b"x"), address, broker, 99, 3000))
    assert receipt.code not in (None, 0)
    message_id = receipt.message_id
    assert carrying.take() == []
    assert box.retry(receipt.parcel, address, broker, 1, 3000)
    assert ended(receipt).code == 0
    assert (receipt.message_id, receipt.queue_id) == (message_id, 1)
    assert box.flush(20.0)
    assert box.pending() == 0


def test_a_request_that_is_lost_times_out(running: Cluster, carrying: Courier) -> None:
    address, broker, _ = queues(running)[0]
    with running.faults.drop("send", times=1):
        receipt = ended(outbox(carrying).send(Message("lost", b"x"), address, broker, 0, 50))
    assert receipt.code == ResponseCode.RPC_TIME_OUT
    assert address in receipt.remark


def test_a_broker_that_dies_fails_what_is_under_way() -> None:
    with cluster(autoCreateTopicEnable=True) as running, courier() as carrying:
        box = outbox(carrying, linger_ms=0)
        box.set_route("dying", queues(running))
        assert ended(posted(box, Message("dying", b"x"))).code == 0
        with running.faults.drop("send") as fault:
            receipt = posted(box, Message("dying", b"y"))
            until(lambda: fault.met)
            running.faults.kill()
            parcel = failed(carrying)
        assert parcel.code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        assert not box.flush(0.0)
        running.faults.heal()
        running.faults.restart()
        address, broker, queue_id = queues(running)[0]
        assert box.retry(parcel, address, broker, queue_id, 10_000)
        assert ended(receipt).code == 0
        assert box.flush(20.0)


def test_a_post_without_room_waits_for_answers(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "narrow", linger_ms=0, room_bytes=100_000)
    address, broker, _ = queues(running)[0]
    with running.faults.drop("send", times=1) as fault:
        receipt = posted(box, Message("narrow", b"x" * 60_000))
        until(lambda: fault.met)
    assert box.try_post(Message("narrow", b"y" * 60_000)) is False
    late: list[Promise | None] = []
    thread = threading.Thread(target=lambda: late.append(box.post(judge, Message("narrow", b"y" * 60_000))))
    thread.start()
    parcel = receipt.parcel
    carrying.disconnect(address)
    assert failed(carrying) == parcel
    assert not late
    assert box.retry(parcel, address, broker, 0, 10_000)
    thread.join(20.0)
    assert ended(receipt).code == 0
    (promise,) = late
    assert promise is not None
    assert promise.result(20.0).status is SendStatus.SEND_OK
    assert promise.done
    assert promise.exception() is None


def test_a_promise_says_why_there_is_no_result(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "given-up", linger_ms=0)
    with running.faults.drop("send", times=1) as fault:
        promise = box.post(judge, Message("given-up", b"x"))
        until(lambda: fault.met)
        assert promise is not None
        with pytest.raises(TimeoutError, match=r"still on its way after 0\.01 s"):
            promise.result(0.01)
        carrying.disconnect(running.broker.address)
        box.give_up(failed(carrying))
    assert isinstance(promise.exception(20.0), SendFailed)
    with pytest.raises(SendFailed):
        promise.result()


def test_who_was_refused_room_is_told_when_there_is_some(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "told", linger_ms=0, room_bytes=1000)
    with running.faults.drop("send", times=1) as fault:
        posted(box, Message("told", b"x" * 900))
        until(lambda: fault.met)
    message = Message("told", b"y" * 900)
    assert box.try_post(message) is False
    carrying.disconnect(running.broker.address)
    box.give_up(failed(carrying))
    assert taken(carrying) == box
    receipt = box.try_post(message)
    assert receipt
    assert ended(receipt).code == 0


def test_a_stop_leaves_no_receipt_without_a_result(running: Cluster) -> None:
    with courier() as carrying:
        box = posting(carrying, running, "stopped", linger_ms=3_600_000)
        waiting = posted(box, Message("stopped", b"collected"))
        carrying.stop(20.0)
        assert ended(waiting).code == 0
        late = ended(posted(box, Message("stopped", b"too late")))
        assert late.code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        assert "stopped" in late.remark
        assert box.flush(20.0)


def test_a_stop_gives_up_what_nobody_answers(running: Cluster) -> None:
    with courier() as carrying, running.faults.drop("send") as fault:
        box = posting(carrying, running, "stopped", linger_ms=0)
        undecided = box.send(Message("stopped", b"x"), *queues(running)[0], 60_000)
        receipt = posted(box, Message("stopped", b"x"))
        until(lambda: fault.met == 2)
        carrying.stop(0.0)
        for each in (receipt, undecided):
            assert ended(each).code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED


def test_a_forked_child_keeps_its_hands_off(running: Cluster, carrying: Courier) -> None:
    box = posting(carrying, running, "forked", linger_ms=0)
    assert ended(posted(box, Message("forked", b"parent"))).code == 0
    child = os.fork()
    if not child:
        receipt = box.try_post(Message("forked", b"child"))
        right = receipt and receipt.wait(5.0) and "forked" in receipt.remark
        carrying.stop(0.0)
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ended(posted(box, Message("forked", b"parent"))).code == 0


def test_a_message_shows_what_it_was_made_of() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    message = Message(
        "T",
        bytearray(b"x"),
        tags="t",
        keys=("a", "b"),
        properties={"p": "q"},
        flag=3,
        deliver_at=moment,
        sharding_key="s",
        wait=False,
    )
    assert message.properties == {
        "WAIT": "false",
        "p": "q",
        "TAGS": "t",
        "KEYS": "a b",
        "TIMER_DELIVER_MS": str(int(moment.timestamp() * 1000)),
        "__SHARDINGKEY": "s",
    }
    assert (message.topic, message.body, message.flag, message.tags, message.keys) == (
        "T",
        b"x",
        3,
        "t",
        ["a", "b"],
    )
    assert (message.sharding_key, message.wait, message.deliver_at) == ("s", False, 1_767_225_600_000)
    message.tags = message.deliver_at = message.keys = None
    message.wait, message.sharding_key, message.body, message.topic = True, "r", b"y", "U"
    assert message.properties == {"WAIT": "true", "p": "q", "__SHARDINGKEY": "r"}
    assert (message.body, message.topic) == (b"y", "U")
    message.properties["more"] = "less"
    assert "more" in repr(message)


def test_one_of_three_ways_says_when_a_message_is_delivered() -> None:
    by_level = Message("T", b"x", delay_level=4)
    assert (by_level.delay_level, by_level.properties["DELAY"]) == (4, "4")
    with pytest.raises(ValueError, match="delay_level is set, so set it to None before"):
        by_level.delay = 1.5
    by_level.delay_level = None
    by_level.delay = timedelta(seconds=1.5)
    assert (by_level.delay, by_level.properties["TIMER_DELAY_MS"]) == (1.5, "1500")
    by_level.delay = 2
    assert by_level.delay == 2.0
    for changes in ({"delay_level": 1}, {"deliver_at": 1}):
        with pytest.raises(ValueError, match="one of delay_level, delay and deliver_at says when"):
            Message("T", b"x", delay=5, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Message("T", "text"), TypeError, "text.encode"),  # type: ignore[arg-type]
        (lambda: Message(7, b"x"), TypeError, "topic"),  # type: ignore[arg-type]
        (lambda: Message("T", b"x", delay=float("nan")), ValueError, "number of seconds, 0 or more, .* nan"),
        (lambda: Message("T", b"x", delay=-5), ValueError, "number of seconds, 0 or more, .* not -5"),
        (lambda: Message("T", b"x", delay="5"), ValueError, "or a timedelta, not '5'"),  # type: ignore[arg-type]
        (lambda: Message("T", b"x", delay_level=-1), ValueError, "from 1 on, or 0 for none, not -1"),
        (lambda: Message("T", b"x", deliver_at="soon"), ValueError, "is a datetime, or .* not 'soon'"),  # type: ignore[arg-type]
        (lambda: Message("T", b"x", tag="t"), TypeError, "no 'tag': did you mean 'tags'"),  # type: ignore[call-arg]
        (lambda: Message("T", b"x", q="t"), TypeError, r"no 'q': give it as one of properties"),  # type: ignore[call-arg]
        (lambda: Message("T", b"x", keys=[1]), TypeError, "str"),  # type: ignore[list-item]
    ],
)
def test_a_message_that_cannot_be_is_refused(make: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("message", "error", "said"),
    [
        (Message("T", b""), ValueError, "zero"),
        (Message("T", b"x" * 1001), ValueError, "max_message_size"),
        (Message("T", b"x", properties={"a": "b\x01"}), ValueError, "control character"),
        (Message("T", b"x", properties={"a": "b" * 40_000}), ValueError, "at most 32767"),
        (Message("T", b"x", properties={"a": 1}), TypeError, "properties are text"),  # type: ignore[dict-item]
    ],
)
def test_a_message_that_no_broker_takes_is_refused(
    carrying: Courier, message: OutgoingMessage, error: type[Exception], said: str
) -> None:
    box = outbox(carrying, max_message_size=1000)
    box.set_route("T", [("127.0.0.1:1", "b", 0)])
    with pytest.raises(error, match=said):
        box.post(judge, message)
    with pytest.raises(error, match=said):
        box.try_post(message)
    with pytest.raises(error, match=said):
        box.send(message, "127.0.0.1:1", "b", 0, 1000)
    assert box.pending() == 0


def test_options_are_checked(carrying: Courier) -> None:
    for options, said in [
        ({"compression": "rar"}, "zlib, lz4, zstd or none"),
        ({"client_ip": "home"}, "client_ip"),
        ({"lingers": 1}, "no option"),
        ({"room_bytes": -1}, "room_bytes"),
    ]:
        with pytest.raises(ValueError, match=said):
            outbox(carrying, **options)  # type: ignore[arg-type]
