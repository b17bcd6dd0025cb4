"""What a broker tells name servers, and when; the name server here writes down what it hears."""

import asyncio
import contextlib
import logging
import zlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tailfin.broker import registration as beats
from tailfin.broker.app import Broker
from tailfin.config import ServerConfig
from tailfin.config.namesrv import NamesrvSettings
from tailfin.namesrv import NameServer
from tailfin.remoting import Request, Response, Server, handles
from tailfin.wire import registration, version
from tailfin.wire.bodies.routes import TopicRouteData
from tailfin.wire.bodies.topics import RegisterBrokerBody, TopicConfig
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.namesrv import RegisterBrokerRequestHeader
from tests.unit.broker.talking import Talker, eventually
from tests.unit.broker.test_life import brokers_known, name_server, settings
from tests.unit.loops import in_loop, until


class Listener:
    """A name server's ear."""

    def __init__(self) -> None:
        self.heard: list[Request] = []
        self.refusals = 0
        """How many of the next requests are refused."""
        self.listens = asyncio.Event()
        """Until then nothing is answered."""
        self.listens.set()

    @handles(Code.REGISTER_BROKER, Code.REGISTER_TOPIC_IN_NAMESRV, Code.UNREGISTER_BROKER)
    async def hear(self, request: Request) -> Response:
        self.heard.append(request)
        await self.listens.wait()
        if self.refusals:
            self.refusals -= 1
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "not now")
        return Response()

    def has_heard(self, count: int) -> bool:
        """Whether there were so many requests."""
        return len(self.heard) >= count

    def topics_told(self) -> list[set[str]]:
        """Return the names of each registration."""
        bodies = (RegisterBrokerBody.from_json(request.body) for request in self.heard)
        return [set(body.topic_config_serialize_wrapper.topic_config_table) for body in bodies]


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


@in_loop
async def test_broker_of_a_zone_is_found_in_that_zone_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKETMQ_ZONE", "north")
    monkeypatch.setenv("ROCKETMQ_ZONE_MODE", "true")
    server = name_server(tmp_path / "kv")
    await server.start()
    namesrv = f"127.0.0.1:{server.port}"
    async with Broker(settings(tmp_path / "data", namesrvAddr=namesrv)) as broker:
        for zone, found in (("north", ["broker-a"]), ("south", [])):
            fields = {"topic": "SELF_TEST_TOPIC", "__ZONE_NAME": zone, "__ZONE_MODE": "true"}
            answer = await broker.client.call(namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields=fields)
            route = TopicRouteData.from_json(answer.body)
            assert [each.broker_name for each in route.broker_datas] == found
    await server.stop()


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
    # In steps, between which those that missed something are tried again.
    assert slept[:4] == [3, 3, 3, 1]
    assert sum(slept) >= 10 + 30


@pytest.mark.parametrize("single", [False, True])
@in_loop
async def test_changed_topic_costs_no_other_its_route_where_missing_ones_are_dropped(
    tmp_path: Path, single: bool
) -> None:
    given = {"bindAddress": "127.0.0.1", "listenPort": 0, "deleteTopicWithBrokerRegistration": True}
    server = NameServer(NamesrvSettings.of({**given, "kvConfigPath": str(tmp_path / "kv")}))
    await server.start()
    namesrv = f"127.0.0.1:{server.port}"
    given = {"namesrvAddr": namesrv, "enableSingleTopicRegister": single}
    async with Broker(settings(tmp_path / "data", **given)) as broker:
        for name in ("A", "B"):
            broker.topics.put([TopicConfig(topic_name=name, read_queue_nums=3)])
            await broker.topics_settled()
        for name in ("A", "B", "SELF_TEST_TOPIC"):
            answer = await broker.client.call(
                namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": name, "acceptStandardJsonOnly": "true"}
            )
            (queues,) = TopicRouteData.from_json(answer.body).queue_datas
            assert (queues.broker_name, queues.perm) == ("broker-a", 6)
    await server.stop()


@in_loop
async def test_name_server_that_missed_a_topic_is_told_all_of_them_next_time(tmp_path: Path) -> None:
    async with listening() as (listener, address), Broker(settings(tmp_path, namesrvAddr=address)) as broker:
        listener.refusals = 1
        for round_number, name in enumerate(("Missed", "Next", "Later"), 2):
            broker.topics.put([TopicConfig(topic_name=name)])
            await until(partial(listener.has_heard, round_number), "the round")
        all_told, missed, mended, later = listener.topics_told()
    assert missed == {"Missed"}
    assert mended == all_told | {"Missed", "Next"}
    assert later == {"Later"}


@in_loop
async def test_topic_deleted_while_a_name_server_is_slow_does_not_come_back_there(tmp_path: Path) -> None:
    async with listening() as (listener, address), Broker(settings(tmp_path, namesrvAddr=address)) as broker:
        listener.listens.clear()
        for name in ("First", "Gone", "Kept"):
            broker.topics.put([TopicConfig(topic_name=name)])
            await until(partial(listener.has_heard, 2), "the round with the first")
        broker.topics.delete("Gone")
        listener.listens.set()
        await until(partial(listener.has_heard, 3), "the next round")
        assert listener.topics_told()[1:] == [{"First"}, {"Kept"}]


@in_loop
async def test_topic_deleted_between_registrations_of_single_topics_is_not_told(tmp_path: Path) -> None:
    async with listening() as (listener, address):
        given = settings(tmp_path, namesrvAddr=address, enableSingleTopicRegister=True)
        async with Broker(given) as broker:
            listener.listens.clear()
            broker.topics.put([TopicConfig(topic_name=name) for name in ("First", "Gone", "Kept")])
            await until(partial(listener.has_heard, 2), "the first topic")
            broker.topics.delete("Gone")
            listener.listens.set()
            await until(partial(listener.has_heard, 3), "the next topic")
            assert [request.fields["topic"] for request in listener.heard[1:]] == ["First", "Kept"]


@in_loop
async def test_name_server_in_trouble_is_tried_again_while_the_others_have_their_turns(
    tmp_path: Path,
) -> None:
    async with (
        listening() as (refusing, one),
        listening() as (listener, other),
        Broker(settings(tmp_path, namesrvAddr=f"{one};{other}")) as broker,
    ):
        refusing.refusals = 3
        broker.topics.put([TopicConfig(topic_name="A")])
        await broker.topics_settled()
        turns: list[int] = []

        async def noting(seconds: float) -> None:
            turns.append(len(listener.heard))
            await asyncio.sleep(0.01)

        beating = asyncio.create_task(broker.registration.run(noting))
        await until(lambda: refusing.refusals == 0 and len(refusing.heard) >= 5, "what it missed")
        await until(lambda: len(turns) >= 6, "a turn")
        beating.cancel()
        everything = refusing.topics_told()[0] | {"A"}
        assert refusing.topics_told()[1:5] == [{"A"}, everything, everything, everything]
        # The first beginning, the change, and then its own turn after four steps of a pause.
        assert turns[:5] == [2, 2, 2, 2, 3]


@in_loop
async def test_name_server_hears_nothing_after_the_goodbye(tmp_path: Path) -> None:
    async with listening() as (deaf, one), listening() as (listener, other):
        async with Broker(settings(tmp_path, namesrvAddr=f"{one};{other}")) as broker:
            deaf.listens.clear()
            leaving = asyncio.create_task(broker.registration.unregister())
            await until(lambda: len(listener.heard) == 2, "the goodbye")
            broker.topics.put([TopicConfig(topic_name="A")])
            await broker.registration.register()
            deaf.listens.set()
            await leaving
        codes = [request.code for request in listener.heard]
    assert codes == [Code.REGISTER_BROKER, Code.UNREGISTER_BROKER, Code.UNREGISTER_BROKER]


@in_loop
async def test_name_server_that_hangs_holds_up_neither_others_nor_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beats, "WAITED_FOR_S", 0.1)
    async with listening() as (deaf, one), listening() as (listener, other):
        deaf.listens.clear()
        async with Broker(settings(tmp_path, namesrvAddr=f"{one};{other}")) as broker:
            for name in ("A", "B"):
                broker.topics.put([TopicConfig(topic_name=name)])
                await broker.topics_settled()
            assert listener.topics_told()[1:] == [{"A"}, {"B"}]
            assert len(deaf.heard) == 1
            deaf.listens.set()
            await until(lambda: len(deaf.heard) == 2, "what came meanwhile")
            assert deaf.topics_told()[1] == {"A", "B"}


@in_loop
async def test_name_server_whose_name_cannot_be_is_forgotten_once_it_is_no_longer_configured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        listener, address = await stack.enter_async_context(listening())
        given = settings(tmp_path, namesrvAddr=f"ns..a:9876;{address}")
        broker = await stack.enter_async_context(Broker(given))
        beating = asyncio.create_task(broker.registration.run(lambda _: asyncio.sleep(0.001)))
        await until(lambda: len(listener.heard) >= 3, "registrations")
        await broker.apply(broker.settings.changed({"namesrvAddr": address}))
        heard = len(listener.heard)
        await until(lambda: len(listener.heard) >= heard + 3, "registrations with the other one alone")
        beating.cancel()
    (said,) = [record.message for record in caplog.records if "ns..a" in record.message]
    assert "cannot connect to ns..a:9876: " in said


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
