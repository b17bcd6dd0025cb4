"""Messages found, read, followed, sent again."""

import threading
from collections.abc import Sequence

import pytest

import tailfin
from tailfin.admin import AdminError, NotFound, Perm
from tailfin.client.queues import Queue
from tailfin.message import Message, ReceivedMessage
from tailfin.wire.bodies.stats import CMResult, ConsumeMessageDirectlyResult
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tests.unit.admin.scene import Scene, eventually
from tests.unit.admin.scene import scene as started

UNIQUE = "7F0000010000000000000000000{:05d}"


def bodies(messages: Sequence[ReceivedMessage]) -> list[bytes]:
    return [each.body for each in messages]


@pytest.fixture(scope="module")
def orders(scene: Scene) -> list[str]:
    """Six messages on two queues; return their brokers' ids."""
    scene.admin.topics.create("orders", queues=2, broker="broker-a")
    return [
        scene.send(
            "orders",
            b"%d" % number,
            queue_id=number % 2,
            properties={
                "KEYS": f"order-{number} all",
                "TAGS": "even" if number % 2 == 0 else "odd",
                "UNIQ_KEY": UNIQUE.format(number),
            },
        )
        for number in range(6)
    ]


@pytest.mark.shows("QY-01")
def test_a_message_is_found_by_either_id(scene: Scene, orders: list[str]) -> None:
    messages = scene.admin.messages
    assert messages.by_id(orders[4]).body == b"4"
    eventually(lambda: messages.by_unique_key("orders", UNIQUE.format(4)), "the index")
    assert bodies(messages.by_unique_key("orders", UNIQUE.format(4))) == [b"4"]
    for either in (orders[4], UNIQUE.format(4)):
        assert messages.find("orders", either).body == b"4"


@pytest.mark.shows("QY-02", "QY-03")
def test_messages_are_found_by_key_and_time(scene: Scene, orders: list[str]) -> None:
    messages = scene.admin.messages
    found = eventually(
        lambda: (found := messages.by_key("orders", "all")) and len(found) == 6 and found, "the index"
    )
    assert found
    assert bodies(found) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert bodies(messages.by_key("orders", "order-3")) == [b"3"]
    last = found[-1].store_timestamp
    since = [each.body for each in found if each.store_timestamp >= last]
    assert bodies(messages.by_key("orders", "all", begin=last)) == since
    assert messages.by_key("orders", "all", end=found[0].store_timestamp - 1) == ()
    assert messages.by_key("orders", "nothing") == ()


def test_a_message_is_found_by_its_offset(scene: Scene, orders: list[str]) -> None:
    queue = Queue("orders", "broker-a", 1)
    assert scene.admin.messages.by_offset(queue, 2).body == b"5"
    with pytest.raises(NotFound, match="holds 0 to 2: there is no message at 3"):
        scene.admin.messages.by_offset(queue, 3)
    with pytest.raises(AdminError, match="is on broker-a, not on broker-b"):
        scene.admin.messages.by_offset(queue._replace(broker="broker-b"), 0)


def test_ids_that_lead_nowhere_are_explained(scene: Scene, orders: list[str]) -> None:
    messages = scene.admin.messages
    with pytest.raises(AdminError, match="'short' is no broker's message id"):
        messages.by_id("short")
    with pytest.raises(NotFound, match=r"names broker 127\.0\.0\.1:10911, which this cluster does not have"):
        messages.by_id("7F00000100002A9F0000000000000000")
    with pytest.raises(NotFound, match="has no message"):
        messages.by_id(orders[0][:16] + f"{1 << 40:016X}")
    with pytest.raises(NotFound, match="topic 'orders' has no message"):
        messages.find("orders", UNIQUE.format(99))


def test_a_topic_is_read_in_the_order_it_was_stored(scene: Scene, orders: list[str]) -> None:
    read = scene.admin.messages.read
    assert sorted(each.body for each in read("orders")) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    stored = [each.store_timestamp for each in read("orders")]
    assert stored == sorted(stored)
    assert bodies(list(read("orders", queues=[Queue("orders", "broker-a", 0)]))) == [b"0", b"2", b"4"]
    assert bodies(list(read("orders", expression="odd || none"))) == [b"1", b"3", b"5"]
    assert len(list(read("orders", limit=4))) == 4
    assert list(read("orders", start="last")) == []
    middle = stored[3]
    assert len(list(read("orders", start=middle))) == len([each for each in stored if each >= middle])
    assert len(list(read("orders", end=middle))) == len([each for each in stored if each < middle])


def test_a_queue_is_read_between_offsets(scene: Scene, orders: list[str]) -> None:
    queue = Queue("orders", "broker-a", 1)
    read_queue = scene.admin.messages.read_queue
    assert bodies(list(read_queue(queue, 1))) == [b"3", b"5"]
    assert bodies(list(read_queue(queue, -5, 2))) == [b"1", b"3"]
    assert bodies(list(read_queue(queue, 0, 99, expression="even"))) == []
    assert bodies(list(read_queue(queue, 7))) == []


def test_reading_ends_early_without_a_trace(scene: Scene, orders: list[str]) -> None:
    for message in scene.admin.messages.read("orders"):
        assert message.topic == "orders"
        break
    assert scene.admin.topics.groups("orders") == ()


def test_many_messages_are_read_page_by_page(scene: Scene) -> None:
    scene.admin.topics.create("long", queues=1, broker="broker-a")
    for number in range(70):
        scene.send("long", b"%d" % number)
    assert [int(each.body) for each in scene.admin.messages.read("long")] == list(range(70))


def test_following_yields_what_comes(scene: Scene) -> None:
    scene.admin.topics.create("live", queues=2, broker="broker-a")
    scene.send("live", b"before", queue_id=1)
    followed = scene.admin.messages.follow("live", start="first")
    assert next(followed).body == b"before"
    later = threading.Thread(target=scene.send, args=("live", b"after"))
    later.start()
    assert next(followed).body == b"after"
    later.join()
    followed.close()  # type: ignore[attr-defined]  # it is a generator


def test_following_goes_on_when_the_broker_is_back() -> None:
    with started() as scene:
        scene.admin.topics.create("live", queues=1)
        scene.send("live", b"before")
        followed = scene.admin.messages.follow("live", start="first")
        assert next(followed).body == b"before"
        scene.cluster.faults.kill()
        scene.cluster.faults.restart()
        scene.send("live", b"after")
        assert next(followed).body == b"after"
        followed.close()  # type: ignore[attr-defined]  # it is a generator


def test_following_ends_with_what_is_refused(scene: Scene) -> None:
    scene.admin.topics.create("shut", queues=1, perm=Perm.WRITE, broker="broker-a")
    followed = scene.admin.messages.follow("shut", queues=[Queue("shut", "broker-a", 0)])
    with pytest.raises(AdminError, match="may not be read"):
        next(followed)


def test_a_topic_that_may_not_be_read_says_how_to_allow_it(scene: Scene) -> None:
    scene.admin.topics.create("write_only", queues=1, perm=Perm.WRITE, broker="broker-a")
    scene.send("write_only")
    with pytest.raises(AdminError, match="topic update write_only --perm rw"):
        scene.admin.messages.by_offset(Queue("write_only", "broker-a", 0), 0)
    scene.admin.topics.update("write_only", perm=Perm.READ | Perm.WRITE)
    assert scene.admin.messages.by_offset(Queue("write_only", "broker-a", 0), 0).body == b"hello"


def test_a_message_is_sent_again_with_its_properties(scene: Scene) -> None:
    scene.admin.topics.create("again", queues=1, broker="broker-a")
    first = scene.send("again", b"once", properties={"KEYS": "k", "TAGS": "t", "mine": "1", "WAIT": "false"})
    result = scene.admin.messages.resend(scene.admin.messages.by_id(first))
    assert (result.queue, result.queue_offset) == (Queue("again", "broker-a", 0), 1)
    copy = eventually(lambda: list(scene.admin.messages.read("again"))[1:], "the copy")[0]
    assert (copy.body, copy.offset_message_id) == (b"once", result.offset_message_id)
    own = {name: copy.property(name) for name in ("KEYS", "TAGS", "mine", "WAIT")}
    assert own == {"KEYS": "k", "TAGS": "t", "mine": "1", "WAIT": None}


def test_a_compressed_body_is_read_and_sent_again(scene: Scene) -> None:
    scene.admin.topics.create("big", queues=1, broker="broker-a")
    body = b"0123456789" * 1000
    with tailfin.Producer("sender", nameserver=scene.cluster.namesrv) as producer:
        sent = producer.send(tailfin.Message("big", body))
    message = scene.admin.messages.by_id(sent.offset_message_id)
    assert (message.body, message.sys_flag & 1) == (body, 1)
    again = scene.admin.messages.by_id(scene.admin.messages.resend(message).offset_message_id)
    assert (again.body, again.message_id) == (body, sent.message_id)
    assert again.size < len(body)


def test_a_consumer_consumes_a_message_when_told(scene: Scene) -> None:
    scene.admin.topics.create("direct", queues=1, broker="broker-a")
    scene.admin.groups.create("worker")
    message = scene.admin.messages.by_id(scene.send("direct", b"now"))
    outcome = ConsumeMessageDirectlyResult(consume_result=CMResult.CR_SUCCESS, spent_time_mills=3)
    scene.talker.answers[Code.CONSUME_MESSAGE_DIRECTLY] = Frame(code=0, body=outcome.to_json())
    scene.beat("worker", {"direct": "*"})
    result = scene.admin.messages.consume_directly(message, "worker", scene.talker.client_id)
    assert (result.consume_result, result.spent_time_mills) == (CMResult.CR_SUCCESS, 3)
    assert Message.decode(scene.talker.heard[-1].body).body == b"now"


def test_a_message_is_tracked_through_the_groups(scene: Scene) -> None:
    scene.admin.topics.create("tracked", queues=1, broker="broker-a")
    for group in ("behind", "beyond"):
        scene.admin.groups.create(group)
        scene.admin.offsets.reset(group, "tracked", "first")
    message = scene.admin.messages.by_id(scene.send("tracked"))
    scene.admin.offsets.skip("beyond", "tracked")
    tracks = {each.group: each.status for each in scene.admin.messages.track(message)}
    assert tracks == {"behind": "NOT_ONLINE", "beyond": "CONSUMED"}
