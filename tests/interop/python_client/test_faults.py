"""What goes wrong around the Python client: what was acknowledged is not lost, and every message comes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tailfin
from tests.crash.waiting import wait_until
from tests.interop.clients import servers
from tests.interop.clients.clusters import Cluster
from tests.interop.python_client.scenes import fresh, message
from tests.interop.python_client.wire import wire

BEHIND = "127.0.0.2"
QUICK: Any = {
    "rebalance_interval": 1.0,
    "heartbeat_interval": 1.0,
    "route_interval": 1.0,
    "commit_interval": 0.5,
    "trouble_pause": 0.5,
    "consume_from": "first",
}
"""A consumer that hears of everything within a second."""
WAIT_S = 60
PACE_S = 0.002
LOAD = 300
"""Messages before something happens, and after."""


class Load(threading.Thread):
    """Sends numbered messages until it is told to end, and notes those that were acknowledged."""

    def __init__(self, namesrv: str, topic: str, *, soon: bool) -> None:
        super().__init__()
        self.acknowledged: list[str] = []
        self.failures: list[Exception] = []
        self._namesrv, self._topic, self._soon = namesrv, topic, soon
        self._end = threading.Event()

    def run(self) -> None:
        with tailfin.Producer(fresh("load"), nameserver=self._namesrv, timeout=3.0) as producer:
            numbers = iter(range(1_000_000))
            while not self._end.wait(PACE_S):
                sent = [next(numbers) for _ in range(10 if self._soon else 1)]
                given = [message(self._topic, number) for number in sent]
                try:
                    if self._soon:
                        for receipt in [producer.send_soon(each) for each in given]:
                            receipt.result()
                    else:
                        producer.send(given[0])
                except tailfin.ClientError as error:
                    self.failures.append(error)
                else:
                    self.acknowledged += [f"key-{number}" for number in sent]

    def wait_for(self, more: int) -> None:
        """Wait until so many more messages were acknowledged."""
        wanted = len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= wanted, f"{more} more acknowledged messages", WAIT_S)

    def end(self) -> None:
        self._end.set()
        self.join()


def make_topic(namesrv: str) -> str:
    """Make a topic of four queues."""
    topic = fresh("topic")
    with tailfin.AdminClient(nameserver=namesrv) as admin:
        admin.topics.create(topic, queues=4)
    return topic


@contextmanager
def load(namesrv: str, topic: str, *, soon: bool = False) -> Iterator[Load]:
    """Send until the block ends."""
    running = Load(namesrv, topic, soon=soon)
    running.start()
    try:
        yield running
    finally:
        running.end()


@contextmanager
def consuming(
    namesrv: str,
    topic: str,
    received: list[str],
    **more: Any,  # noqa: ANN401
) -> Iterator[None]:
    """Note the key of every message that comes while the block runs."""
    options: Any = {"nameserver": namesrv, "subscribe": {topic: "*"}, **QUICK, **more}

    def handle(message: tailfin.ReceivedMessage) -> None:
        received.append(message.keys[0])

    with tailfin.PushConsumer(fresh("group"), handler=handle, **options):
        yield


@pytest.mark.parametrize("soon", [False, True], ids=["one by one", "coalesced"])
def test_nothing_acknowledged_is_lost_when_the_broker_is_killed_under_load(
    tmp_path: Path, soon: bool
) -> None:
    port, received = servers.free_broker_port(), list[str]()
    home = tmp_path / "broker"
    with servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv:
        cluster = Cluster("tailfin", namesrv.address, {"broker-a": f"127.0.0.1:{port}"})
        with servers.broker("tailfin", home, namesrv.address, port=port) as broker:
            cluster.wait_registered()
            topic = make_topic(namesrv.address)
            with (
                consuming(namesrv.address, topic, received),
                load(namesrv.address, topic, soon=soon) as sending,
            ):
                sending.wait_for(LOAD)
                broker.process.kill()
                with servers.broker("tailfin", home, namesrv.address, port=port):
                    sending.wait_for(LOAD)
                    sending.end()
                    wait_until(lambda: set(received) >= set(sending.acknowledged), "all messages", WAIT_S)


def test_work_goes_on_without_a_name_server_and_with_the_next_one(tmp_path: Path) -> None:
    received = list[str]()
    with servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv:
        port = int(namesrv.address.rpartition(":")[2])
        with servers.broker("tailfin", tmp_path / "broker", namesrv.address) as broker:
            cluster = Cluster("tailfin", namesrv.address, {"broker-a": broker.address})
            cluster.wait_registered()
            topic = make_topic(namesrv.address)
            with consuming(namesrv.address, topic, received), load(namesrv.address, topic) as sending:
                sending.wait_for(LOAD)
                namesrv.process.kill()
                namesrv.process.wait()
                sending.wait_for(LOAD)
                with servers.nameserver("tailfin", tmp_path / "next", {"listenPort": port}):
                    cluster.wait_registered()
                    later = make_topic(namesrv.address)
                    with tailfin.Producer(fresh("later"), nameserver=namesrv.address) as producer:
                        producer.send(message(later, 0))
                    sending.wait_for(LOAD)
                    sending.end()
                    wait_until(lambda: set(received) >= set(sending.acknowledged), "all messages", WAIT_S)

    assert sending.failures == []


def test_connections_that_have_gone_silent_are_given_up(tmp_path: Path) -> None:
    received = list[str]()
    port = servers.free_broker_port()
    with servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv:
        # The broker listens at another address of loopback than it tells, and a wire leads from there to it.
        behind = {"bindAddress": BEHIND}
        with (
            wire(("127.0.0.1", port), (BEHIND, port)) as between,
            servers.broker("tailfin", tmp_path / "broker", namesrv.address, settings=behind, port=port),
        ):
            cluster = Cluster("tailfin", namesrv.address, {"broker-a": f"127.0.0.1:{port}"})
            cluster.wait_registered()
            topic = make_topic(namesrv.address)
            with (
                consuming(namesrv.address, topic, received, pull_hold=0.5, pull_timeout=1.5),
                load(namesrv.address, topic) as sending,
            ):
                sending.wait_for(LOAD)
                between.freeze()
                sending.wait_for(LOAD)
                sending.end()
                wait_until(lambda: set(received) >= set(sending.acknowledged), "all messages", WAIT_S)
