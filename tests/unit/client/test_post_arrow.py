"""Rows of record batches as messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Unpack

import pyarrow as pa
import pytest

import tailfin
from tailfin._engine import Tally
from tailfin.client import producer
from tailfin.client.blocking.portal import Portal
from tailfin.client.choosing import by_key
from tailfin.client.errors import UNREACHABLE
from tailfin.client.producer_options import ProducerKeywords
from tailfin.client.production import Production
from tailfin.testing import Cluster, until

TOPIC = "T"


class Sender:
    """A producer that takes batches."""

    def __init__(self, portal: Portal, running: Production, cluster: Cluster) -> None:
        self.portal = portal
        self.running = running
        self.cluster = cluster
        self.open(TOPIC)

    def open(self, topic: str) -> None:
        self.portal.call(self.running.posting.open(topic))

    def send(self, columns: dict[str, pa.Array]) -> list[tailfin.ReceivedMessage]:
        """Send rows; return everything that is in the topic then."""
        tally = Tally()
        batch = pa.record_batch(columns)
        stopped = self.running.outbox.post_arrow(batch, tally, topic=TOPIC, left_out={"UNIQ_KEY"})
        assert stopped is None
        self.running.outbox.flush()
        assert tally.wait(10)
        assert tally.failure is None
        return self.stored(tally.stored)

    def stored(self, count: int, topic: str = TOPIC) -> list[tailfin.ReceivedMessage]:
        """Return the messages of a topic once there are so many."""
        with tailfin.AdminClient(nameserver=self.cluster.namesrv) as admin:
            until(lambda: len(list(admin.messages.read(topic))) >= count)
            return sorted(admin.messages.read(topic), key=lambda each: each.body)


@contextmanager
def sending(cluster: Cluster, **keywords: Unpack[ProducerKeywords]) -> Iterator[Sender]:
    portal = Portal.open()
    keywords["nameserver"] = cluster.namesrv
    made = producer.Producer("g", **keywords)
    portal.call(made.start())
    try:
        yield Sender(portal, made.running, cluster)
    finally:
        portal.call(made.stop())
        portal.close()


@pytest.fixture
def sender(tailfin_cluster: Cluster) -> Iterator[Sender]:
    with sending(tailfin_cluster) as made:
        yield made


def text(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_bodies_of_every_kind_are_sent(sender: Sender, kind: pa.DataType) -> None:
    found = sender.send({"body": pa.array(["one", "two"], pa.string()).cast(kind)})
    assert [each.body for each in found] == [b"one", b"two"]


def test_columns_become_what_a_message_has(sender: Sender) -> None:
    properties = pa.array(
        [[("color", "red"), ("UNIQ_KEY", "not mine"), ("empty", None)], None],
        pa.map_(pa.string(), pa.string()),
    )
    first, second = sender.send(
        {
            "Body": text("a", "b"),
            "TAGS": text("paid", None),
            "keys": text("1 2", ""),
            "properties": properties,
        }
    )
    assert (first.tags, first.keys, first.property("color")) == ("paid", ["1", "2"], "red")
    assert first.message_id != "not mine"
    assert first.property("empty") is None
    assert (second.tags, second.keys, second.property("color")) == (None, [], None)


def test_a_part_of_a_batch_is_that_part(sender: Sender) -> None:
    whole = pa.record_batch(
        {
            "body": text("a", "b", "c", "d"),
            "properties": pa.array([[("n", str(n))] for n in range(4)], pa.map_(pa.string(), pa.string())),
        }
    )
    tally = Tally()
    assert sender.running.outbox.post_arrow(whole.slice(1, 2), tally, topic=TOPIC) is None
    assert sender.running.outbox.post_arrow(whole, tally, start=3, topic=TOPIC) is None
    sender.running.outbox.flush()
    assert [(each.body, each.property("n")) for each in sender.stored(3)] == [
        (b"b", "1"),
        (b"c", "2"),
        (b"d", "3"),
    ]


def test_a_row_names_its_topic_or_the_option_does(sender: Sender) -> None:
    batch = pa.record_batch({"body": text("a", "b"), "topic": text(None, "Other")})
    tally = Tally()
    assert sender.running.outbox.post_arrow(batch, tally, topic=TOPIC) == (1, "Other")
    sender.open("Other")
    assert sender.running.outbox.post_arrow(batch, tally, start=1, topic=TOPIC) is None
    sender.running.outbox.flush()
    assert tally.stored == 2
    assert [each.body for each in sender.stored(1, "Other")] == [b"b"]


def test_rows_of_a_key_go_to_the_queue_that_producers_choose_in_their_order(sender: Sender) -> None:
    keys = [f"key {number % 7}" for number in range(700)]
    bodies = text(*(f"{number:05}" for number in range(700)))
    found = sender.send({"body": bodies, "shardingKey": text(*keys)})
    queues = sender.portal.call(sender.running.queues(TOPIC))
    for number, each in enumerate(found):
        assert each.queue == by_key(queues, keys[number])
    for queue in queues:
        offsets = [each.queue_offset for each in found if each.queue == queue]
        assert offsets == sorted(offsets)


def test_rows_go_to_the_queue_they_name(sender: Sender) -> None:
    found = sender.send(
        {
            "body": text("a", "b", "c"),
            "queueId": pa.array([3, 1, None], pa.int32()),
            "brokerName": text(None, "broker-a", None),
        }
    )
    assert [each.queue_id for each in found[:2]] == [3, 1]


def test_a_time_to_deliver_makes_a_row_wait(sender: Sender) -> None:
    later = datetime.now(UTC).timestamp() + 3600
    moments = pa.array([int(later * 1e6), None], pa.timestamp("us", tz="UTC"))
    levels = pa.array([None, 3], pa.int32())
    tally = Tally()
    batch = pa.record_batch({"body": text("a", "b"), "deliverAt": moments, "delayLevel": levels})
    assert sender.running.outbox.post_arrow(batch, tally, topic=TOPIC) is None
    sender.running.outbox.flush()
    assert tally.stored == 2
    until(lambda: sender.cluster.waiting() == 2)
    assert sender.stored(0) == []


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"body": text("a", None)}, "row 1 has no body: it is null"),
        ({"body": text("a", "")}, "row 1: the message body length is zero"),
        ({"body": text("a"), "queueId": pa.array([99], pa.int32())}, "row 0 wants queue 99, which topic 'T'"),
        ({"body": text("a"), "tags": text("a\x01b")}, "row 0: the name or value of property 'TAGS'"),
        ({"tags": text("a")}, "there is no column 'body'"),
        ({"body": text("a"), "colour": text("a")}, "there is no column 'colour'"),
        ({"body": pa.array([1])}, "column 'body' cannot be of the type Int64"),
        ({"body": text("a"), "queueId": pa.array([1])}, "column 'queueId' cannot be of the type Int64"),
    ],
)
def test_a_row_that_cannot_be_sent_is_named(
    sender: Sender, columns: dict[str, pa.Array], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence.replace("'", "[\"']")):
        sender.running.outbox.post_arrow(pa.record_batch(columns), Tally(), topic=TOPIC)


def test_a_row_without_any_topic_is_named(sender: Sender) -> None:
    with pytest.raises(ValueError, match="row 0 names no topic: give the option"):
        sender.running.outbox.post_arrow(pa.record_batch({"body": text("a")}), Tally())


def test_what_is_no_record_batch_is_refused(sender: Sender) -> None:
    for wrong in (b"bytes", pa.array([1])):
        with pytest.raises(TypeError, match="a record batch is wanted, not"):
            sender.running.outbox.post_arrow(wrong, Tally(), topic=TOPIC)


def test_a_failure_is_told_and_ends_the_posting(tailfin_cluster: Cluster) -> None:
    with sending(tailfin_cluster, timeout=0.5, retries=0, batch_count=1, stop_timeout=0.1) as sender:
        tailfin_cluster.faults.kill()
        tally = Tally()
        batch = pa.record_batch({"body": text(*("x" for _ in range(5000)))})
        assert sender.running.outbox.post_arrow(batch, tally, topic=TOPIC, window=10) is None
        sender.running.outbox.flush()
        assert tally.failure is not None
        code, remark, topic, broker, _, tries = tally.failure
        assert code in UNREACHABLE
        assert remark
        assert (topic, broker, tries, tally.stored) == (TOPIC, "broker-a", 1, 0)


def test_halves_are_ended_together(sender: Sender) -> None:
    tally = Tally(handles=True)
    marks = {"TRAN_MSG": "true", "PGROUP": "g"}
    batch = pa.record_batch({"body": text(*(f"{number:04}" for number in range(500)))})
    outbox, courier = sender.running.outbox, sender.running.network.carrier.courier
    assert outbox.post_arrow(batch, tally, topic=TOPIC, properties=marks, window=16) is None
    outbox.flush()
    assert sender.stored(0) == []
    ((broker, topic, handles),) = tally.handles()
    address = sender.running.network.address_of(broker)
    for _ in range(2):
        assert not courier.end_transactions(
            address, handles, group="g", topic=topic, commits=True, id="x", window=16
        )
    assert [each.body.decode() for each in sender.stored(500)] == [f"{number:04}" for number in range(500)]
    unended = courier.end_transactions(address, handles, group="g", topic=topic, commits=False, id="x")
    assert len(unended) == 500
    assert "committed before" in unended[0][3]
