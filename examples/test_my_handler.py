"""How to test your own handlers: with a real broker, in the test's process, that starts in a blink.

Run it with `pytest examples/test_my_handler.py`. The fixture `tailfin_cluster` comes with Tailfin.
"""

from collections.abc import Iterator

import pytest

import tailfin
from tailfin.testing import Cluster, until

# The code under test.

charged: list[str] = []


def charge(message: tailfin.ReceivedMessage) -> tailfin.Retry | None:
    if message.body == b"not yet" and message.reconsume_times == 0:
        return tailfin.RETRY
    charged.append(message.body.decode())
    return None


# Its tests.


@pytest.fixture
def producer(tailfin_cluster: Cluster) -> Iterator[tailfin.Producer]:
    charged.clear()
    with tailfin.Producer("tests", nameserver=tailfin_cluster.namesrv) as producer:
        yield producer


def consumer(cluster: Cluster) -> tailfin.PushConsumer:
    return tailfin.PushConsumer(
        "billing",
        nameserver=cluster.namesrv,
        subscribe={"orders": "*"},
        handler=charge,
        consume_from="first",
    )


def test_an_order_is_charged(tailfin_cluster: Cluster, producer: tailfin.Producer) -> None:
    producer.send(tailfin.Message("orders", b"order 1"))
    with consumer(tailfin_cluster):
        until(lambda: charged == ["order 1"])


def test_what_is_not_ready_is_tried_again(tailfin_cluster: Cluster, producer: tailfin.Producer) -> None:
    producer.send(tailfin.Message("orders", b"not yet"))
    with consumer(tailfin_cluster):
        until(lambda: tailfin_cluster.waiting() == 1)  # the broker has it again, and waits 10 s
        tailfin_cluster.clock.advance(10)  # which are over now
        until(lambda: charged == ["not yet"])


def test_a_reminder_comes_a_day_later(tailfin_cluster: Cluster, producer: tailfin.Producer) -> None:
    producer.send(tailfin.Message("orders", b"reminder", delay=24 * 3600))
    with consumer(tailfin_cluster):
        until(lambda: tailfin_cluster.waiting() == 1)
        assert charged == []
        tailfin_cluster.clock.advance(24 * 3600 + 1)
        until(lambda: charged == ["reminder"])


def test_an_answer_that_is_lost_makes_a_second_message(
    tailfin_cluster: Cluster, producer: tailfin.Producer
) -> None:
    with tailfin_cluster.faults.drop("send", times=1, answers=True):
        producer.send(tailfin.Message("orders", b"twice"), timeout=3)  # tried again, and now answered
    with consumer(tailfin_cluster):
        until(lambda: charged == ["twice", "twice"])  # tailfin.once would leave one out


def test_a_broker_that_crashes_loses_nothing(tailfin_cluster: Cluster, producer: tailfin.Producer) -> None:
    producer.send(tailfin.Message("orders", b"safe"))
    tailfin_cluster.faults.kill()
    with pytest.raises(tailfin.SendFailed):
        producer.send(tailfin.Message("orders", b"in vain"))
    tailfin_cluster.faults.restart()
    with consumer(tailfin_cluster):
        until(lambda: charged == ["safe"])
