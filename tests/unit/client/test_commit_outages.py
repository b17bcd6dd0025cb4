"""Offsets while a broker does not take them."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailfin import Message
from tailfin.aio import Producer, PullConsumer, PushConsumer
from tailfin.broker.app import Broker
from tailfin.cluster import SMALL_FILES
from tailfin.config import BrokerSettings
from tailfin.testing import Cluster, cluster
from tests.unit.client.consumers import QUICK, Heard, bodies, fresh, made, quick, send, sender
from tests.unit.loops import in_loop, until


@pytest.fixture
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@in_loop
async def test_an_outage_is_told_once_and_so_is_its_end(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tailfin.client")
    topic, heard = fresh("T"), Heard()
    queue, *_ = await made(running, topic)
    options = quick(running, subscribe={topic: "*"}, handler=heard, request_timeout=1.0, commit_interval=0.05)
    async with sender(running) as producer, PushConsumer(fresh("G"), consume_from="first", **options):
        with running.faults.drop("commit") as fault:
            await send(producer, topic, bodies(5), queue=queue)
            await until(lambda: fault.met >= 3, "lost commits")
        await until(lambda: "has the offsets" in caplog.text, "the end of the outage")
    told = [each.levelname for each in caplog.records if "the offsets of group" in each.getMessage()]
    assert told == ["WARNING", "INFO"]


@in_loop
async def test_a_stop_does_not_wait_for_a_broker_that_takes_no_offsets(
    running: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic, heard = fresh("T"), Heard()
    await made(running, topic)
    # Without a limit of its own the last commit would outlast the test.
    options = quick(running, subscribe={topic: "*"}, handler=heard, request_timeout=300.0, stop_timeout=0.2)
    async with sender(running) as producer:
        consumer = PushConsumer(fresh("G"), **options)
        await consumer.start()
        with running.faults.drop("commit") as fault:
            await send(producer, topic, [b"x"])
            await until(lambda: fault.met, "a lost commit")
            await consumer.stop()
    assert "come again: their offsets are not kept" in caplog.text


@in_loop
async def test_a_slave_keeps_the_offsets_while_its_master_is_away(
    running: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group, heard = fresh("T"), fresh("G"), Heard()
    queue, *_ = await made(running, topic, 1)
    master = running.broker
    # There is no replication here: the slave knows the topic from the start, and has none of its messages.
    shutil.copytree(master.config_folder, tmp_path / "config")
    local = {"brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": 0}
    role = {"brokerName": master.config.brokerName, "brokerId": 1, "brokerRole": "SLAVE"}
    home = {"namesrvAddr": running.namesrv, "storePathRootDir": str(tmp_path)}
    options: dict[str, Any] = {**QUICK, "nameserver": running.namesrv, "request_timeout": 1.0}
    async with (
        Broker(BrokerSettings.of({**SMALL_FILES, **local, **role, **home})) as slave,
        Producer("senders", nameserver=running.namesrv) as producer,
        PullConsumer(fresh("G"), nameserver=running.namesrv, request_timeout=1.0) as reader,
    ):
        await reader.queues(topic)
        async with PushConsumer(
            group, subscribe={topic: "*"}, handler=heard, consume_from="first", **options
        ):
            with running.faults.drop("commit"):
                await producer.send(Message(topic, b"x"))
                await until(lambda: slave.offsets.get(group, topic, 0) == 1, "the offset at the slave")
                await reader.commit(queue, 1)
            await until(lambda: master.offsets.get(group, topic, 0) == 1, "the offset at the master")
    assert "its slave 1 keeps them meanwhile" in caplog.text
