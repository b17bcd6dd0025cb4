"""Consumers live through what goes wrong round them, and lose nothing."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailfin import Message, SendFailed
from tailfin.aio import Producer, PushConsumer
from tailfin.broker.app import Broker
from tailfin.cluster import SMALL_FILES
from tailfin.config import BrokerSettings
from tailfin.config.namesrv import NamesrvSettings
from tailfin.namesrv import NameServer
from tailfin.testing import Cluster, cluster
from tailfin.wire.codes import Code
from tests.unit.client.consumers import QUICK, Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.fixture
def running() -> Iterator[Cluster]:
    with cluster(brokers=2) as found:
        yield found


@pytest.mark.parametrize("orderly", [False, True])
@in_loop
async def test_a_broker_is_killed_and_comes_back_during_load(running: Cluster, orderly: bool) -> None:
    topic, heard = fresh("T"), Heard()
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=heard, orderly=orderly, request_timeout=1.0)
    acknowledged = list[bytes]()
    async with sender(running) as producer, PushConsumer(fresh("G"), consume_from="first", **options):
        for number in range(90):
            body = b"%d" % number
            if number == 30:
                await asyncio.to_thread(running.faults.kill)
            if number == 60:
                await asyncio.to_thread(running.faults.restart)
            with contextlib.suppress(SendFailed):
                await producer.send(Message(topic, body))
                acknowledged.append(body)
        await until(lambda: set(heard.bodies) >= set(acknowledged), "every acknowledged message", 20)
    assert len(acknowledged) >= 60


@in_loop
async def test_a_silent_broker_is_asked_again(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=heard, pull_hold=0.2, pull_timeout=0.5)
    async with sender(running) as producer, PushConsumer(fresh("G"), **options):
        with running.faults.drop("pull") as fault:
            await until(lambda: fault.met >= 8, "pulls without an answer")
            await send(producer, topic, bodies(8))
        await until(lambda: len(heard.messages) == 8, "all messages")


@in_loop
async def test_lost_commits_are_repeated(running: Cluster) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue = (await made(running, topic))[0]
    options = quick(running, subscribe={topic: "*"}, handler=heard, request_timeout=0.3)
    async with sender(running) as producer:
        async with PushConsumer(group, consume_from="first", **options):
            with running.faults.drop("commit") as fault:
                await send(producer, topic, bodies(5), queue=queue)
                await until(lambda: len(heard.messages) == 5, "all messages")
                await until(lambda: fault.met, "a lost commit")
        await send(producer, topic, [b"next"], queue=queue)
        async with PushConsumer(group, **options):
            await until(lambda: len(heard.messages) == 6, "the next message")
    assert heard.bodies[-1] == b"next"


@in_loop
async def test_members_that_nobody_tells_of_keep_what_they_have(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    queues = await made(running, topic)
    options = quick(
        running, subscribe={topic: "*"}, handler=heard, rebalance_interval=0.1, request_timeout=0.2
    )
    async with sender(running) as producer, PushConsumer(fresh("G"), **options) as consumer:
        with running.faults.drop("members") as fault:
            await until(lambda: fault.met >= 3, "questions without an answer")
            assert consumer.queues >= set(queues)
            await send(producer, topic, bodies(4))
            await until(lambda: len(heard.messages) == 4, "all messages")


@in_loop
async def test_a_lock_that_is_not_given_is_asked_for_again(running: Cluster) -> None:
    topic, heard = fresh("T"), Heard()
    queues = await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=heard, orderly=True, request_timeout=0.2)
    async with sender(running) as producer:
        with running.faults.drop(Code.LOCK_BATCH_MQ) as fault:
            consumer = PushConsumer(fresh("G"), **options)
            await consumer.start()
            await until(lambda: fault.met >= 2, "lost requests for locks")
            assert not consumer.queues & set(queues)
        await until(lambda: consumer.queues >= set(queues), "the queues")
        await send(producer, topic, bodies(4))
        await until(lambda: len(heard.messages) == 4, "all messages")
        await consumer.stop()


@in_loop
async def test_the_name_server_may_go_while_consumers_run(tmp_path: Path) -> None:
    topic, heard = fresh("T"), Heard()
    paths = {"kvConfigPath": str(tmp_path / "kv.json"), "configStorePath": str(tmp_path / "ns.properties")}
    server = NameServer(NamesrvSettings.of({"listenPort": 0, "bindAddress": "127.0.0.1", **paths}))
    await server.start()
    place = f"127.0.0.1:{server.port}"
    local = {"brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": 0}
    broker = Broker(
        BrokerSettings.of({**SMALL_FILES, **local, "namesrvAddr": place, "storePathRootDir": str(tmp_path)})
    )
    await broker.start()
    options: dict[str, Any] = {**QUICK, "rebalance_interval": 0.1, "nameserver": place}
    async with Producer("senders", nameserver=place) as producer:
        await send(producer, topic, bodies(4))
        async with PushConsumer(
            fresh("G"), subscribe={topic: "*"}, handler=heard, consume_from="first", **options
        ):
            await until(lambda: len(heard.messages) == 4, "messages before")
            await server.stop()
            await send(producer, topic, bodies(4, 4))
            await until(lambda: len(heard.messages) == 8, "messages without a name server")
    await broker.stop()
