"""Start and stop: what is announced, what is kept, what is said when something is wrong."""

import asyncio
import logging
import socket
import threading
from pathlib import Path

import pytest

from tailfin.broker.address import free_port
from tailfin.broker.app import Broker
from tailfin.broker.config_file import ConfigFileDamaged
from tailfin.cluster import SMALL_FILES, Node
from tailfin.config import BrokerSettings, files
from tailfin.config.namesrv import NamesrvSettings
from tailfin.config.setting import ConfigError
from tailfin.namesrv import NameServer
from tailfin.remoting import Client
from tailfin.wire import fastjson, version
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, Talker, eventually, left_by_a_kill, running
from tests.unit.loops import in_loop


def settings(data: Path, **more: object) -> BrokerSettings:
    given = {"brokerName": "broker-a", "brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": 0}
    return BrokerSettings.of({**SMALL_FILES, **given, "storePathRootDir": str(data), **more})


def name_server(data: Path, port: int = 0) -> NameServer:
    given = {"bindAddress": "127.0.0.1", "listenPort": port, "kvConfigPath": str(data)}
    return NameServer(NamesrvSettings.of(given))


async def brokers_known(client: Client, namesrv: str) -> list[str]:
    answer = await client.call(namesrv, Code.GET_BROKER_CLUSTER_INFO)
    return sorted(fastjson.loads(answer.body)["brokerAddrTable"])


@pytest.mark.shows("BK-06", "BK-07", "BK-14", "BK-17")
@in_loop
async def test_broker_registers_with_every_name_server_and_leaves_them(tmp_path: Path) -> None:
    servers = [name_server(tmp_path / name) for name in ("one", "two")]
    for server in servers:
        await server.start()
    addresses = [f"127.0.0.1:{server.port}" for server in servers]
    nobody = f"127.0.0.1:{free_port('127.0.0.1')}"
    client = Client()
    async with Broker(settings(tmp_path, namesrvAddr=";".join([nobody, *addresses]))):
        for address in addresses:
            assert await brokers_known(client, address) == ["broker-a"]
    for address in addresses:

        async def gone(address: str = address) -> bool:
            return await brokers_known(client, address) == []

        await eventually(gone)
    await client.stop()
    for server in servers:
        await server.stop()


@in_loop
async def test_broker_starts_without_a_name_server_and_is_found_later(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    async with Broker(settings(tmp_path, namesrvAddr=f"127.0.0.1:{port}")) as broker:
        talker = Talker(broker.address)
        assert (await talker.send("T")).code == OK
        server = name_server(tmp_path / "kv", port)
        await server.start()

        async def known() -> bool:
            return await brokers_known(talker.client, f"127.0.0.1:{port}") == ["broker-a"]

        await eventually(known)
        await talker.client.stop()
        await broker.stop()
        await server.stop()


@in_loop
async def test_registration_is_skipped_where_the_version_is_known(tmp_path: Path) -> None:
    async with running(tmp_path, forceRegister=False) as (node, broker, talker):
        assert not await broker.registration._outdated(node.namesrv)
        broker.topics.touch()
        assert await broker.registration._outdated(node.namesrv)
        await broker.registration.register(force=False)
        assert not await broker.registration._outdated(node.namesrv)
        assert await brokers_known(talker.client, node.namesrv) == ["broker-a"]


@in_loop
async def test_order_config_of_a_name_server_marks_topics(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, broker, talker):
        await talker.send("T")
        fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
        await talker.client.call(node.namesrv, Code.PUT_KV_CONFIG, fields=fields)
        await broker.registration.register()
        topic = broker.topics.get("T")
        assert topic is not None
        assert topic.order


@pytest.mark.shows("U-17")
@in_loop
async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"kept")
        await talker.beat(topics={"T": "*"})
        version = broker.topics.version
    assert not (tmp_path / "broker-a" / "abort").exists()
    async with running(tmp_path) as (_, broker, talker):
        assert broker.topics.version == version
        assert {"T", "%RETRY%G"} <= {topic.topic_name for topic in broker.topics.all()}
        assert "G" in broker.groups
        assert [m.body for m in await talker.read("T", 1)] == [b"kept"]


@in_loop
async def test_damaged_topics_file_stops_the_start_and_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "topics.json").write_text("{")
    with pytest.raises(ConfigFileDamaged, match=r"topics\.json"):
        await Broker(settings(tmp_path)).start()
    (folder / "topics.json").unlink()
    async with Broker(settings(tmp_path)):
        pass


@in_loop
async def test_numbers_in_a_file_that_cannot_be_do_not_stop_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    topic = {"topicName": "T", "readQueueNums": 3, "topicSysFlag": 3 * 10**9}
    (folder / "topics.json").write_bytes(fastjson.dumps({"topicConfigTable": {"T": topic}}))
    group = {"groupName": "G", "retryMaxTimes": 3, "groupSysFlag": 3 * 10**9}
    (folder / "subscriptionGroup.json").write_bytes(fastjson.dumps({"subscriptionGroupTable": {"G": group}}))
    async with Broker(settings(tmp_path)) as broker:
        assert broker.topics.get("T") == TopicConfig(topic_name="T", read_queue_nums=3)
        assert broker.groups.get("G") == SubscriptionGroupConfig(group_name="G", retry_max_times=3)
    assert "topicSysFlag of topic T is 3000000000" in caplog.text
    assert "groupSysFlag of group G is 3000000000" in caplog.text


@in_loop
async def test_taken_port_stops_the_start_and_leaves_the_store_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        await Broker(settings(tmp_path, listenPort=taken.getsockname()[1])).start()
    async with Broker(settings(tmp_path)):
        pass


@in_loop
async def test_address_that_nobody_can_reach_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "tailfin.broker"):
        async with Broker(settings(tmp_path, brokerIP1="127.9.9.9")):
            pass
    assert "clients will be told 127.9.9.9" in caplog.text
    assert "brokerIP1" in caplog.text


@pytest.mark.parametrize(
    ("given", "in_records"), [("localhost", "127.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]")]
)
@in_loop
async def test_name_is_told_as_it_was_given_and_its_address_stands_in_records(
    tmp_path: Path, given: str, in_records: str
) -> None:
    async with Broker(settings(tmp_path, brokerIP1=given)) as broker:
        port = broker.config.listenPort
        assert broker.address == f"{given}:{port}"
        talker = Talker(f"127.0.0.1:{port}")
        assert (await talker.send("T")).code == OK
        (message,) = await talker.read("T", 1)
        assert message.store_host == f"{in_records}:{port}"
        await talker.client.stop()


@pytest.mark.parametrize("name", ["a..b", "no-such-host.invalid", "x" * 64 + ".example"])
@in_loop
async def test_address_that_cannot_be_resolved_is_a_mistake_in_the_settings(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigError, match=f"brokerIP1={name} is no address"):
        await Broker(settings(tmp_path, brokerIP1=name)).start()


@pytest.mark.shows("BK-03", "U-04")
@in_loop
async def test_boot_line_names_broker_and_name_server(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, broker, _):
        assert broker.boot_line() == (
            f"The broker[broker-a, {broker.address}] boot success. serializeType=JSON "
            f"and name server is {node.namesrv}"
        )


@pytest.mark.shows("BK-02")
@in_loop
async def test_second_stop_does_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, _):
        await asyncio.gather(broker.stop(), broker.stop())
        await broker.stop()


@pytest.mark.shows("TP-04")
@in_loop
async def test_topic_made_by_a_message_is_on_that_broker_only(tmp_path: Path) -> None:
    async with Node(tmp_path, brokers=2, small_files=True) as node:
        talker = Talker(node.brokers[1].address)
        await talker.send("T")
        await node.brokers[1].topics_settled()
        assert await brokers_known(talker.client, node.namesrv) == ["broker-a", "broker-b"]
        route = await talker.client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "T"})
        assert [queue["brokerName"] for queue in fastjson.loads(route.body)["queueDatas"]] == ["broker-b"]
        await talker.client.stop()


@in_loop
async def test_many_topics_made_at_once_are_kept_and_known(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, broker, talker):
        sent = await asyncio.gather(*(talker.send(f"T{number}") for number in range(300)))
        assert {frame.code for frame in sent} == {OK}
        await broker.topics_settled()
        kept = left_by_a_kill(broker.config_folder, tmp_path)[0]
        assert all(f"T{number}" in kept for number in range(300))
        route = await talker.client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "T299"})
        assert route.code == OK


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\x00\xff", b'{"a":' * 100, b'"text"', b"{}"])
@in_loop
async def test_no_request_with_nonsense_harms_the_broker(tmp_path: Path, body: bytes) -> None:
    nonsense = {"topic": "\u0000", "queueId": "x", "offset": "9" * 40, "consumerGroup": "", "group": "a/b"}
    async with running(tmp_path) as (_, _, talker):
        for code in Code:
            if code in (Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE):
                continue
            for fields in (nonsense, {}):
                try:
                    await talker.ask(code, fields, body)
                except RemotingError as error:
                    pytest.fail(f"{code.name} closed the connection: {error}")
        assert (await talker.send("Fine")).code == OK
        assert (await talker.pull("Fine")).code in (OK, 19)


@in_loop
async def test_broker_that_leaves_sends_new_clients_away_from_sends_and_pulls_too(tmp_path: Path) -> None:
    class OfOldRelease:
        def before(self, address: str, request: Frame) -> None:
            request.version = version.V5_3_1

        def after(self, address: str, request: Frame, response: Frame) -> None:
            pass

    graceful = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 3600}
    broker = Broker(settings(tmp_path, **graceful))
    await broker.start()
    new, old = Talker(broker.address), Talker(broker.address)
    old.client = Client(hooks=(OfOldRelease(),))
    assert (await new.send("T", b"before")).code == OK
    stopping = asyncio.create_task(broker.stop())
    place = {"topic": "T", "queueId": 0}

    async def sent_away() -> bool:
        return (await new.ask(Code.GET_MIN_OFFSET, place)).code == ResponseCode.GO_AWAY

    await eventually(sent_away)
    assert (await new.send("T")).code == ResponseCode.GO_AWAY
    assert (await new.pull("T")).code == ResponseCode.GO_AWAY
    assert (await old.send("T", b"after")).code == OK
    commit = {"consumerGroup": "G", **place, "commitOffset": 1}
    assert (await old.ask(Code.UPDATE_CONSUMER_OFFSET, commit)).code == OK
    assert [m.body for m in await old.read("T", 2)] == [b"before", b"after"]
    stopping.cancel()
    for talker in (new, old):
        await talker.client.stop()
    await broker._close()


@pytest.mark.shows("BK-13")
@in_loop
async def test_stopped_broker_leaves_no_timer_behind(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with Broker(settings(tmp_path)) as broker:
        assert len(asyncio.all_tasks() - before) >= len(broker._timers) > 0
    assert asyncio.all_tasks() == before


@pytest.mark.shows("TP-08", "CM-03")
@in_loop
async def test_topic_on_two_masters_survives_the_loss_of_one(tmp_path: Path) -> None:
    async with Node(tmp_path, brokers=2, small_files=True) as node:
        talkers = [Talker(broker.address) for broker in node.brokers]
        for talker, broker in zip(talkers, node.brokers, strict=True):
            await talker.send("T")
            await broker.topics_settled()
        client = talkers[1].client

        async def places() -> list[str]:
            route = await client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "T"})
            return sorted(queue["brokerName"] for queue in fastjson.loads(route.body)["queueDatas"])

        assert await places() == ["broker-a", "broker-b"]
        await node.brokers[0].stop()

        async def one_left() -> bool:
            return await places() == ["broker-b"]

        await eventually(one_left)
        assert (await talkers[1].send("T")).code == OK
        for talker in talkers:
            await talker.client.stop()


@in_loop
async def test_stop_waits_for_a_file_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    began, goes_on, under_way, together = threading.Event(), threading.Event(), [], []

    def slowly(path: Path, content: bytes) -> None:
        if path.name == "delayOffset.json":
            under_way.append(path)
            together.append(len(under_way))
            began.set()
            assert goes_on.wait(20)
            under_way.pop()
        replace_file(path, content)

    replace_file = files.replace_file
    monkeypatch.setattr(files, "replace_file", slowly)
    broker = Broker(settings(tmp_path))
    await broker.start()
    await asyncio.to_thread(began.wait, 20)
    stopping = asyncio.create_task(broker.stop())
    # Time to come as far as it can: nothing tells from outside that the stop waits for the file.
    await asyncio.sleep(0.1)
    assert not stopping.done()
    goes_on.set()
    await stopping
    assert set(together) == {1}
    assert "could not be written" not in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"brokerRole": "SLAVE", "brokerId": 1}, "nothing is copied from its master"),
        ({"brokerRole": "SYNC_MASTER"}, "acknowledges as an ASYNC_MASTER does"),
        ({"minInSyncReplicas": 2}, "acknowledges as an ASYNC_MASTER does"),
        ({"inSyncReplicas": "all"}, ""),
        ({}, ""),
    ],
)
@in_loop
async def test_role_that_promises_copies_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, given: dict[str, object], said: str
) -> None:
    async with Broker(settings(tmp_path, **given)):
        pass
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    roles = [text for text in warnings if "SLAVE" in text or "slave" in text]
    assert len(roles) == bool(said)
    assert all(said in text for text in roles)
