"""Handlers that are slow or raise while brokers are killed: what was acknowledged is done, and done once."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tailfin
from tailfin.testing import cluster, until
from tests.unit.client.consumers import QUICK

KILLS = 3
PATIENCE_S = 60.0
TOPIC = "orders"
MARK = b"1000000001"
SOON = " ".join(["1s"] * 18)


class Handler:
    """Raises at each tenth message once, takes long over each twentieth, and counts what it has done."""

    def __init__(self) -> None:
        self.done = Counter[bytes]()
        self._raised = set[bytes]()

    def __call__(self, message: tailfin.ReceivedMessage) -> None:
        number = int(message.body)
        if number % 10 == 0 and message.body not in self._raised:
            self._raised.add(message.body)
            raise ValueError("not now")
        if number % 20 == 7:
            time.sleep(0.05)
        self.done[message.body] += 1


def wait_for_more(acknowledged: list[bytes], count: int) -> None:
    wanted = len(acknowledged) + count
    until(lambda: len(acknowledged) >= wanted, PATIENCE_S)


@contextmanager
def load(nameserver: str) -> Iterator[list[bytes]]:
    """Send until the block ends; it is given what was acknowledged."""
    acknowledged, stop = list[bytes](), threading.Event()

    def send() -> None:
        with tailfin.Producer("shop", nameserver=nameserver, route_interval=0.5) as producer:
            number = 0
            while not stop.wait(0.001):
                bodies = [b"%d" % each for each in range(number, number + 5)]
                number += 5
                receipts = [producer.send_soon(tailfin.Message(TOPIC, body)) for body in bodies]
                for body, receipt in zip(bodies, receipts, strict=True):
                    try:
                        receipt.result()
                    except tailfin.SendFailed:
                        continue
                    acknowledged.append(body)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        sender.join()


def test_all_that_was_acknowledged_is_done_and_not_again_after_a_clean_stop() -> None:
    handler, later = Handler(), Handler()
    with (
        cluster(brokers=2, messageDelayLevel=SOON) as running,
        tailfin.AdminClient(nameserver=running.namesrv) as admin,
    ):
        admin.topics.create(TOPIC, queues=4)
        options: Any = {
            "nameserver": running.namesrv,
            "subscribe": {TOPIC: "*"},
            "consume_from": "first",
            **QUICK,
        }

        def is_quiet() -> bool:
            """Whether nothing is to be consumed, nor waits for its next try."""
            return running.waiting() == 0 and admin.offsets.progress("billing").lag == 0

        with tailfin.PushConsumer("billing", handler=handler, **options):
            with load(running.namesrv) as acknowledged:
                for kill in range(KILLS):
                    broker = f"broker-{'ab'[kill % 2]}"
                    wait_for_more(acknowledged, 200)
                    running.faults.kill(broker)
                    wait_for_more(acknowledged, 50)
                    running.faults.restart(broker)
            until(lambda: handler.done.keys() >= set(acknowledged) and is_quiet(), PATIENCE_S)
        with tailfin.PushConsumer("billing", handler=later, **options):
            with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
                for queue in producer.queues(TOPIC):
                    producer.send(tailfin.Message(TOPIC, MARK), queue=queue)
            until(lambda: later.done[MARK] == 8, PATIENCE_S)
        assert later.done.keys() == {MARK}
