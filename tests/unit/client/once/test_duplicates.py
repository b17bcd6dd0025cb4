"""Where repetitions come from, on a real cluster, and what `once` makes of them."""

import queue

import pytest

import tailfin
from tailfin.testing import cluster, until


@pytest.mark.shows("ID-01", "ID-02")
def test_a_send_whose_answer_was_lost_makes_a_message_twice_with_one_id() -> None:
    got: queue.SimpleQueue[tailfin.ReceivedMessage] = queue.SimpleQueue()
    with cluster() as running, tailfin.Producer("P", nameserver=running.namesrv) as producer:
        with running.faults.drop("send", times=1, answers=True) as fault:
            sent = producer.send(tailfin.Message("T", b"charge", keys="ORDER-1"))
        assert fault.met == 1
        with tailfin.PushConsumer(
            "G", nameserver=running.namesrv, subscribe={"T": "*"}, handler=got.put, consume_from="first"
        ):
            first, second = got.get(timeout=20), got.get(timeout=20)
    assert first.message_id == second.message_id == sent.message_id
    assert (first.body, first.keys) == (second.body, second.keys) == (b"charge", ["ORDER-1"])
    assert first.offset_message_id != second.offset_message_id, "and yet there are two of them"


def test_once_leaves_the_second_out() -> None:
    handled: list[bytes] = []

    @tailfin.once()
    def charge(message: tailfin.ReceivedMessage) -> None:
        handled.append(message.body)

    with cluster() as running, tailfin.Producer("P", nameserver=running.namesrv) as producer:
        with running.faults.drop("send", times=1, answers=True):
            producer.send(tailfin.Message("T", b"charge", keys="ORDER-1"))
        with tailfin.PushConsumer(
            "G",
            nameserver=running.namesrv,
            subscribe={"T": "*"},
            handler=charge,
            consume_from="first",
            concurrency=1,
        ) as consumer:
            until(lambda: consumer.stats().consumed == 2)
    assert handled == [b"charge"]
