"""What a broker tells name servers, and when; the name server here writes down what it hears."""

import asyncio
import contextlib
import logging
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tailfin.broker import registration as beats
from tailfin.broker.app import Broker
from tailfin.config import ServerConfig
from tailfin.remoting import Request, Response, Server, handles
from tailfin.wire import registration, version
from tailfin.wire.bodies.topics import RegisterBrokerBody
from tailfin.wire.codes import Code
from tailfin.wire.headers.namesrv import RegisterBrokerRequestHeader
from tests.unit.broker.talking import Talker, eventually
from tests.unit.broker.test_life import brokers_known, name_server, settings
from tests.unit.loops import in_loop, until


class Listener:
    """A name server's ear."""

    def __init__(self) -> None:
        self.heard: list[Request] = []

    @handles(Code.REGISTER_BROKER, Code.UNREGISTER_BROKER)
    def hear(self, request: Request) -> Response:
        self.heard.append(request)
        return Response()


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[tuple[Listener, str]]:
    listener = Listener()
    server = Server(ServerConfig(serverSelectorThreads=1).engine_options())
    server.add(listener)
    port = server.listen("127.0.0.1", 0)
    try:
        yield listener, f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@pytest.mark.shows("BK-15")
@pytest.mark.parametrize("compressed", [False, True])
@in_loop
async def test_registration_names_the_broker_and_all_its_topics(tmp_path: Path, compressed: bool) -> None:
    async with listening() as (listener, address):
        given = settings(tmp_path, namesrvAddr=address, compressedRegister=compressed, brokerIP2="127.0.0.2")
        async with Broker(given) as broker:
            expected = set(broker.topics.snapshot().topic_config_table)
            told_version = broker.topics.version
        first = listener.heard[0]
    header = RegisterBrokerRequestHeader.decode(first.fields)
    assert (header.broker_addr, header.broker_id, header.broker_name, header.cluster_name) == (
        broker.address,
        0,
        "broker-a",
        "DefaultCluster",
    )
    assert header.ha_server_addr == broker.ha_address
    assert header.ha_server_addr.startswith("127.0.0.2:")
    assert header.compressed is compressed
    assert header.body_crc32 == zlib.crc32(first.body) & 0x7FFFFFFF
    body = (
        registration.inflate(first.body, version.CURRENT)
        if compressed
        else RegisterBrokerBody.from_json(first.body)
    )
    assert set(body.topic_config_serialize_wrapper.topic_config_table) == expected
    assert body.topic_config_serialize_wrapper.data_version == told_version
    assert body.filter_server_list == []


@pytest.mark.shows("BK-08", "X-01")
@in_loop
async def test_broker_registers_again_and_again(tmp_path: Path) -> None:
    slept: list[float] = []

    async def impatient(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0.01)

    async with listening() as (listener, address), Broker(settings(tmp_path, namesrvAddr=address)) as broker:
        begun = len(listener.heard)
        beating = asyncio.create_task(broker.registration.run(impatient))
        await until(lambda: len(listener.heard) >= begun + 2, "two more registrations")
        beating.cancel()
    assert slept[:2] == [10, 30]


@pytest.mark.shows("BK-04", "BK-09")
@in_loop
async def test_broker_that_shall_disappear_first_is_unknown_until_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(beats, "FIRST_BEAT_S", 0.01)
    server = name_server(tmp_path / "kv")
    await server.start()
    address = f"127.0.0.1:{server.port}"
    with caplog.at_level(logging.INFO, "tailfin.broker"):
        for wait_ms, known in ((3_600_000, []), (50, ["broker-a"])):
            given = settings(tmp_path, namesrvAddr=address, disappearTimeAfterStart=wait_ms)
            async with Broker(given) as broker:
                talker = Talker(broker.address)

                async def as_expected(talker: Talker = talker, known: list[str] = known) -> bool:
                    return await brokers_known(talker.client, address) == known

                await eventually(as_expected)
                await talker.client.stop()
    assert "name servers are told after 3600000 ms" in caplog.text
    await server.stop()
