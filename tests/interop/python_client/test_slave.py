"""Readers of an official master and its slave, while the master is gone and after it is back."""

import asyncio
import shutil
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tailfin
from tailfin import ReceivedMessage
from tailfin.arrow.ranges import QueueRange, RangeReader
from tests.crash.waiting import wait_equal, wait_until
from tests.interop.clients import remoting, servers
from tests.interop.clients.scenario_checks import assert_same
from tests.interop.clients.servers import Server
from tests.interop.python_client import scenes
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import QUICK, Style

QUERY_CONSUMER_OFFSET, MAX_OFFSET = 14, 30
SUCCESS = 0
BEFORE, AFTER = 100, 20
"""Messages that are sent before the master goes, and after it is back."""

LOOKS_OFTEN: dict[str, Any] = QUICK | {
    "consume_from": "first",
    "route_interval": 1.0,
    "heartbeat_interval": 1.0,
    "request_timeout": 20.0,
}
HOLDS_LITTLE: dict[str, Any] = LOOKS_OFTEN | {"pull_batch": 4, "queue_messages": 8}
"""A consumer that has to ask a broker for most of the messages after the master went."""

WAIT_S = 60


class Pair:
    """A master that can be killed and started again, and its slave."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        self._stack, self._home = stack, home
        self._port = servers.free_broker_port()
        self.namesrv = stack.enter_context(servers.nameserver("official", home / "namesrv")).address
        self.master = self.start_master()

    def start_master(self) -> Server:
        settings = {"brokerRole": "ASYNC_MASTER"}
        running = servers.broker(
            "official", self._home / "master", self.namesrv, "pair", settings, self._port
        )
        self.master = self._stack.enter_context(running)
        self.wait_known(self.master)
        return self.master

    def start_slave(self) -> Server:
        # A slave asks for the master's topics after a minute: this one knows them from the start.
        config = self._home / "slave" / "store" / "config"
        config.mkdir(parents=True)
        shutil.copy(self.master.home / "store" / "config" / "topics.json", config)
        settings = {"brokerRole": "SLAVE", "brokerId": 1, "slaveReadEnable": "true"}
        running = servers.broker("official", self._home / "slave", self.namesrv, "pair", settings)
        slave = self._stack.enter_context(running)
        self.wait_known(slave)
        return slave

    def wait_known(self, server: Server) -> None:
        wait_until(
            lambda: server.address.encode() in self._cluster(), f"{server.address} to register", WAIT_S
        )

    def kill_master(self) -> None:
        self.master.process.kill()
        self.master.process.wait()

    def _cluster(self) -> bytes:
        return remoting.ask(self.namesrv, remoting.CLUSTER_INFO).body


def offsets(server: Server, code: int, topic: str, **fields: str) -> int:
    """Return the sum of what a server says about both queues of a topic; those it does not know are 0."""
    answers = [
        remoting.ask(server.address, code, {"topic": topic, "queueId": queue, **fields}) for queue in (0, 1)
    ]
    return sum(int(each.header["extFields"]["offset"]) for each in answers if each.header["code"] == SUCCESS)


def wait_polled(consumer: tailfin.LitePullConsumer, found: list[ReceivedMessage], count: int) -> None:
    """Poll until so many different messages were found."""

    def enough() -> bool:
        found.extend(consumer.poll(0.2))
        return len(different(found)) >= count

    wait_until(enough, f"{count} messages polled", WAIT_S)


def different(messages: Iterable[ReceivedMessage]) -> list[ReceivedMessage]:
    """Leave out what came again, as it may after a broker went."""
    return list({message.message_id: message for message in messages}.values())


def assert_all(received: Iterable[ReceivedMessage], messages: Iterable[tailfin.Message]) -> None:
    assert_same(map(scenes.seen, different(received)), map(sent, messages))


def test_the_slave_is_read_while_the_master_is_gone(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    topic = fresh("kept")
    groups = pushing, polling = fresh("pushing"), fresh("polling")
    first = scenes.messages(topic, BEFORE)
    goes_on = threading.Event()
    ledger = Ledger(lambda message: goes_on.wait(WAIT_S))
    polled: list[ReceivedMessage] = []
    with ExitStack() as stack:
        pair = Pair(stack, tmp_path)
        with tailfin.AdminClient(nameserver=pair.namesrv, request_timeout=20.0) as admin:
            admin.topics.create(topic, queues=2)
        blocking, awaited = (Style(name, pair.namesrv, loop) for name in ("blocking", "asyncio"))
        producer = stack.enter_context(blocking.producer(fresh("producers"), route_interval=1.0))
        for message in first:
            producer.send(message)
        slave = pair.start_slave()
        wait_until(lambda: offsets(slave, MAX_OFFSET, topic) == BEFORE, "copies at the slave", WAIT_S)

        subscribed = {"subscribe": {topic: "*"}}
        stack.enter_context(blocking.push(pushing, ledger, **HOLDS_LITTLE, **subscribed))
        lite = stack.enter_context(awaited.lite(polling, **HOLDS_LITTLE, **subscribed))
        ledger.wait(1)
        wait_polled(lite, polled, 1)

        pair.kill_master()
        goes_on.set()
        wait_until(lambda: len(different(ledger.messages)) >= BEFORE, "messages of the slave", WAIT_S)
        assert_all(ledger.messages, first)
        wait_polled(lite, polled, BEFORE)
        assert_all(polled, first)
        newly: list[ReceivedMessage] = []
        with awaited.lite(fresh("newcomers"), **LOOKS_OFTEN, **subscribed) as newcomer:
            wait_polled(newcomer, newly, BEFORE)
        assert_all(newly, first)
        wait_until(
            lambda: offsets(slave, QUERY_CONSUMER_OFFSET, topic, consumerGroup=pushing) == BEFORE,
            "the group's offsets at the slave",
            WAIT_S,
        )

        pair.start_master()
        then = [scenes.message(topic, BEFORE + number) for number in range(AFTER)]
        for message in then:
            producer.send(message)
        total = BEFORE + AFTER
        wait_until(lambda: len(different(ledger.messages)) >= total, "messages of both", WAIT_S)
        assert_all(ledger.messages, [*first, *then])
        wait_polled(lite, polled, total)
        assert_all(polled, [*first, *then])

        def committed() -> list[int]:
            lite.poll(0.1)
            return [offsets(pair.master, QUERY_CONSUMER_OFFSET, topic, consumerGroup=each) for each in groups]

        # What the master has: more than was sent, should it have been slow and a message been sent again.
        end = offsets(pair.master, MAX_OFFSET, topic)
        wait_equal(committed, [end, end], "the offsets of both groups at the master", WAIT_S)


def test_a_range_is_read_on_from_the_slave_when_the_master_is_killed(tmp_path: Path) -> None:
    topic, count = fresh("ranges"), 2000
    with ExitStack() as stack:
        pair = Pair(stack, tmp_path)
        with tailfin.AdminClient(nameserver=pair.namesrv, request_timeout=20.0) as admin:
            admin.topics.create(topic, queues=2)
        bodies = [b"%d" % number for number in range(count)]
        with tailfin.Producer(fresh("producers"), nameserver=pair.namesrv) as producer:
            queue = producer.queues(topic)[0]
            for start in range(0, count, 500):
                batch = [tailfin.Message(topic, body) for body in bodies[start : start + 500]]
                producer.send_batch(batch, queue=queue)
        slave = pair.start_slave()
        wait_until(lambda: offsets(slave, MAX_OFFSET, topic) == count, "copies at the slave", WAIT_S)

        reader = stack.enter_context(RangeReader(nameserver=pair.namesrv))
        part = QueueRange(*queue, reader.first_offset(queue), reader.end_offset(queue))
        # Small batches: most of the messages have not been asked for when the master goes.
        batches = reader.read(part, batch_rows=10, batch_bytes=1000, pull_batch=10)
        read = next(batches).column("body").to_pylist()
        pair.kill_master()
        for each in batches:
            read += each.column("body").to_pylist()
        assert read == bodies

        newcomer = stack.enter_context(RangeReader(nameserver=pair.namesrv))
        part = QueueRange(*queue, newcomer.first_offset(queue), newcomer.end_offset(queue))
        assert [body for each in newcomer.read(part) for body in each.column("body").to_pylist()] == bodies
