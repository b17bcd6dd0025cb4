"""The admin client beside real consumers: it sees them, and has them do things."""

from collections.abc import Iterator

import pytest

import tailfin
from tailfin.client.queues import Queue
from tailfin.wire.bodies.stats import CMResult
from tests.unit.admin.scene import Scene, eventually, scene


@pytest.fixture(scope="module")
def running() -> Iterator[Scene]:
    with scene(enablePropertyFilter="true") as found:
        yield found


def owned_queues(running: Scene, client_id: str) -> set[int]:
    info = running.admin.connections.running_info("billing", client_id)
    return {queue.queue_id for queue in info.mq_table if queue.topic == "orders"}


def test_a_consumer_is_seen_tells_of_itself_and_consumes_when_told(running: Scene) -> None:
    admin, seen = running.admin, list[bytes]()
    admin.topics.create("orders", queues=2)
    consumer = tailfin.PushConsumer(
        "billing",
        nameserver=running.cluster.namesrv,
        subscribe={"orders": "paid || open"},
        handler=lambda message: seen.append(message.body),
        consume_from="first",
    )
    with consumer, tailfin.Producer("shop", nameserver=running.cluster.namesrv) as producer:
        sent = producer.send(
            tailfin.Message("orders", b"one", tags="paid"), queue=Queue("orders", "broker-a", 1)
        )
        eventually(lambda: seen == [b"one"], "the message")
        members = admin.connections.consumers("billing")
        (client,) = members.clients
        assert client.language == "PYTHON"
        assert {each.topic: each.expression for each in members.subscriptions}["orders"] == "paid || open"
        eventually(lambda: admin.connections.producers("shop"), "the producer")
        eventually(lambda: owned_queues(running, client.client_id) == {0, 1}, "both queues")
        progress = admin.offsets.progress("billing", "orders", owners=True)
        assert {each.client_id for each in progress.queues} == {client.client_id}
        message = admin.messages.find("orders", sent.offset_message_id)
        outcome = admin.messages.consume_directly(message, "billing", client.client_id)
        assert outcome.consume_result is CMResult.CR_SUCCESS
        eventually(lambda: seen == [b"one", b"one"], "the message again")
    eventually(lambda: admin.offsets.progress("billing", "orders").lag == 0, "the offset")
    assert {each.group: each.status for each in admin.messages.track(message)} == {"billing": "CONSUMED"}


@pytest.mark.shows("DQ-06")
def test_a_dead_letter_is_consumed_when_it_is_sent_again(running: Scene) -> None:
    admin, seen = running.admin, list[tuple[str, bytes]]()
    admin.topics.create("bills", queues=1)
    works = False

    def handle(message: tailfin.ReceivedMessage) -> None:
        if not works:
            raise RuntimeError("not today")
        seen.append((message.topic, message.body))

    consumer = tailfin.PushConsumer(
        "payers",
        nameserver=running.cluster.namesrv,
        subscribe={"bills": "*"},
        handler=handle,
        consume_from="first",
        max_reconsume_times=0,
    )
    with consumer, tailfin.Producer("shop", nameserver=running.cluster.namesrv) as producer:
        sent = producer.send(tailfin.Message("bills", b"pay me"))
        (letter,) = eventually(lambda: admin.dead_letters.list("payers"), "the dead letter")
        assert (letter.body, letter.message_id) == (b"pay me", sent.message_id)
        works = True
        admin.dead_letters.resend("payers", letter.offset_message_id)
        eventually(lambda: seen == [("bills", b"pay me")], "the message")


def test_messages_are_read_by_an_sql_expression(running: Scene) -> None:
    running.admin.topics.create("priced", queues=1)
    for price in (5, 50, 500):
        running.send("priced", b"%d" % price, properties={"price": str(price)})
    found = running.admin.messages.read("priced", expression=tailfin.Sql("price > 10"))
    assert [each.body for each in found] == [b"50", b"500"]
