"""A running name server, asked over real sockets."""

import asyncio
import contextlib
import functools
import json
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tailfin.config import files
from tailfin.config.namesrv import NamesrvSettings
from tailfin.namesrv import NameServer
from tailfin.namesrv.broker_handlers import BrokerHandlers
from tailfin.namesrv.handlers import ConfigHandlers, RouteHandlers, TopicHandlers
from tailfin.remoting import Client
from tailfin.wire import fastjson, registration
from tailfin.wire.bodies.common import DataVersion, KVTable, TopicList
from tailfin.wire.bodies.routes import (
    ClusterInfo,
    GetBrokerMemberGroupResponseBody,
    QueueData,
    TopicRouteData,
)
from tailfin.wire.bodies.topics import RegisterBrokerBody
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.headers.namesrv import (
    BrokerHeartbeatRequestHeader,
    GetRouteInfoRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
)
from tests.unit.loops import in_loop, until
from tests.unit.namesrv.samples import topics
from tests.unit.slow_disk import SlowDisk

MASTER = "127.0.0.1:10911"


class OfVersion:
    """Lets a client be of another release."""

    def __init__(self, version: int) -> None:
        self.version = version

    def before(self, address: str, request: Frame) -> None:
        request.version = self.version

    def after(self, address: str, request: Frame, response: Frame) -> None:
        pass


class Peer:
    """A broker or client of the server under test."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = Client()

    async def ask(self, code: Code, body: bytes = b"", /, **fields: str) -> Frame:
        return await self.client.call(self.address, code, fields=fields, body=body)

    async def refused(self, code: Code, body: bytes = b"", /, **fields: str) -> RemotingError:
        with pytest.raises(RemotingError) as caught:
            await self.ask(code, body, **fields)
        return caught.value

    async def register(
        self,
        name: str = "broker-a",
        broker_id: int = 0,
        address: str = MASTER,
        body: RegisterBrokerBody | None = None,
        *,
        compressed: bool = False,
        timeout_ms: int | None = None,
        fields: dict[str, str] | None = None,
    ) -> Frame:
        body = body or RegisterBrokerBody(topic_config_serialize_wrapper=topics("T", "U"))
        data = registration.deflate(body) if compressed else body.to_json()
        header = RegisterBrokerRequestHeader(
            broker_name=name,
            broker_addr=address,
            cluster_name="C",
            ha_server_addr=address + "2",
            broker_id=broker_id,
            heartbeat_timeout_millis=timeout_ms,
            compressed=compressed,
            body_crc32=registration.crc32(data),
        )
        return await self.client.call(
            self.address, Code.REGISTER_BROKER, header=header, body=data, fields=fields
        )

    async def route(self, topic: str = "T", /, **fields: str) -> TopicRouteData:
        return TopicRouteData.from_json(
            (await self.ask(Code.GET_ROUTEINFO_BY_TOPIC, topic=topic, **fields)).body
        )

    async def topics(self) -> list[str]:
        answer = await self.ask(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        return TopicList.from_json(answer.body).topic_list

    async def until_topics(self, expected: list[str]) -> None:
        async with asyncio.timeout(10):
            while await self.topics() != expected:
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def name_server(path: Path, **settings: object) -> AsyncIterator[Peer]:
    given = {
        "kvConfigPath": str(path / "kvConfig.json"),
        "configStorePath": str(path / "namesrv.properties"),
        "bindAddress": "127.0.0.1",
        "listenPort": 0,
        "serverSelectorThreads": 1,
        **settings,
    }
    async with NameServer(NamesrvSettings.of(given)).running() as server:
        peer = Peer(f"127.0.0.1:{server.port}")
        try:
            yield peer
        finally:
            await peer.client.stop()


@pytest.mark.shows("NS-31", "RP-06")
@pytest.mark.parametrize("compressed", [False, True])
@in_loop
async def test_a_registered_topic_is_routed(tmp_path: Path, compressed: bool) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register(compressed=compressed)
        route = await peer.route()
        assert route.queue_datas == [
            QueueData(broker_name="broker-a", read_queue_nums=4, write_queue_nums=4, perm=6)
        ]
        assert route.broker_datas[0].broker_addrs == {0: MASTER}


@pytest.mark.shows("NS-33")
@in_loop
async def test_an_unknown_topic_is_said_so(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        error = await peer.refused(Code.GET_ROUTEINFO_BY_TOPIC, topic="nothing")
        assert error.code is ResponseCode.TOPIC_NOT_EXIST
        assert error.remark.startswith(
            "No topic route info in name server for the topic: nothing\nSee https://"
        )


@pytest.mark.parametrize(
    ("version", "fields", "quoted"),
    [(399, {}, False), (401, {}, True), (0, {"acceptStandardJsonOnly": "true"}, True)],
)
@in_loop
async def test_old_clients_get_their_json(
    tmp_path: Path, version: int, fields: dict[str, str], quoted: bool
) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        client = Client(hooks=(OfVersion(version),))
        header = GetRouteInfoRequestHeader(topic="T")
        answer = await client.call(peer.address, Code.GET_ROUTEINFO_BY_TOPIC, header=header, fields=fields)
        await client.stop()
        assert (b'{"0":' in answer.body) == quoted
        assert (b"{0:" in answer.body) != quoted


@pytest.mark.shows("NS-24")
@in_loop
async def test_a_slave_learns_its_master(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        answer = await peer.register(broker_id=1, address="127.0.0.1:20911")
        header = RegisterBrokerResponseHeader.decode(answer.fields)
        assert (header.master_addr, header.ha_server_addr) == (MASTER, MASTER + "2")
        group = await peer.ask(Code.GET_BROKER_MEMBER_GROUP, clusterName="C", brokerName="broker-a")
        members = GetBrokerMemberGroupResponseBody.from_json(group.body).broker_member_group
        assert members is not None
        assert members.broker_addrs == {0: MASTER, 1: "127.0.0.1:20911"}


@pytest.mark.shows("NS-30")
@in_loop
async def test_a_broker_goes_with_its_connection(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        broker = Peer(peer.address)
        await broker.register()
        assert await peer.topics() == ["T", "U"]
        await broker.client.stop()
        await peer.until_topics([])


@pytest.mark.shows("NS-29", "RP-06")
@in_loop
async def test_a_broker_that_stops_says_goodbye(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        header = UnRegisterBrokerRequestHeader(
            broker_name="broker-a", broker_addr=MASTER, cluster_name="C", broker_id=0
        )
        await peer.client.call(peer.address, Code.UNREGISTER_BROKER, header=header)
        await peer.until_topics([])


@in_loop
async def test_a_broker_that_comes_back_at_once_stays(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        header = UnRegisterBrokerRequestHeader(
            broker_name="broker-a", broker_addr=MASTER, cluster_name="C", broker_id=0
        )
        for _ in range(20):
            await peer.client.notify(peer.address, Code.UNREGISTER_BROKER, header=header)
            await peer.register()
        assert await peer.topics() == ["T", "U"]


@pytest.mark.shows("NS-08", "NS-25")
@in_loop
async def test_a_silent_broker_is_dropped_and_disconnected(tmp_path: Path) -> None:
    async with name_server(tmp_path, scanNotActiveBrokerInterval=20) as peer:
        broker = Peer(peer.address)
        await broker.register(timeout_ms=100)
        await peer.until_topics([])
        connection = broker.client._connections.get(peer.address)
        await until(lambda: connection is None or not connection.usable, "the closed connection")
        await broker.client.stop()


@pytest.mark.parametrize("sign", ["heartbeat", "data version"])
@in_loop
async def test_signs_of_life_keep_a_broker(tmp_path: Path, sign: str) -> None:
    async with name_server(tmp_path, scanNotActiveBrokerInterval=10) as peer:
        await peer.register(timeout_ms=500)
        name = {"broker_name": "broker-a", "broker_addr": MASTER, "cluster_name": "C", "broker_id": 0}
        started = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < started + 1.0:
            if sign == "heartbeat":
                beat = BrokerHeartbeatRequestHeader(**name)  # type: ignore[arg-type]
                await peer.client.call(peer.address, Code.BROKER_HEARTBEAT, header=beat)
            else:
                query = QueryDataVersionRequestHeader(**name)  # type: ignore[arg-type]
                await peer.client.call(peer.address, Code.QUERY_DATA_VERSION, header=query, body=b"{}")
            await asyncio.sleep(0.05)
        assert await peer.topics() == ["T", "U"]


@in_loop
async def test_a_broker_asks_whether_its_topics_are_known(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        header = QueryDataVersionRequestHeader(
            broker_name="broker-a", broker_addr=MASTER, cluster_name="C", broker_id=0
        )

        async def changed(told: DataVersion) -> tuple[bool, bytes]:
            answer = await peer.client.call(
                peer.address, Code.QUERY_DATA_VERSION, header=header, body=told.to_json()
            )
            return QueryDataVersionResponseHeader.decode(answer.fields).changed, answer.body

        assert await changed(DataVersion(counter=1)) == (True, b"")
        await peer.register()
        assert await changed(DataVersion(counter=1)) == (False, DataVersion(counter=1).to_json())
        assert (await changed(DataVersion(counter=2)))[0]


@pytest.mark.shows("NS-16")
@in_loop
async def test_brokers_from_before_filter_servers_register_their_bare_topics(tmp_path: Path) -> None:
    header = RegisterBrokerRequestHeader(
        broker_name="old", broker_addr="o:1", cluster_name="C", ha_server_addr="o:2", broker_id=0
    )
    async with name_server(tmp_path) as peer:
        old = Client(hooks=(OfVersion(36),))
        for body in (topics("T", "U").to_json(), b""):
            await old.call(peer.address, Code.REGISTER_BROKER, header=header, body=body)
        assert await peer.topics() == ["T", "U"]
        await old.stop()


@in_loop
async def test_a_repeated_registration_is_as_good_as_the_first(tmp_path: Path) -> None:
    changed = RegisterBrokerBody(topic_config_serialize_wrapper=topics("T", "V", version=2))
    async with name_server(tmp_path, deleteTopicWithBrokerRegistration=True) as peer:
        for _ in range(3):
            await peer.register()
            await peer.ask(Code.DELETE_TOPIC_IN_NAMESRV, topic="T")
        await peer.register()
        assert sorted(await peer.topics()) == ["T", "U"]
        await peer.register(body=changed)
        assert sorted(await peer.topics()) == ["T", "V"]
        await peer.register(body=changed, compressed=True)
        assert sorted(await peer.topics()) == ["T", "V"]


@in_loop
async def test_a_body_that_was_damaged_on_the_way_is_refused(tmp_path: Path) -> None:
    header = RegisterBrokerRequestHeader(
        broker_name="b", broker_addr="b:1", cluster_name="C", ha_server_addr="b:2", broker_id=0
    )
    async with name_server(tmp_path) as peer:
        fields = header.encode()
        wrong_crc = await peer.refused(Code.REGISTER_BROKER, b"{}", **(fields | {"bodyCrc32": "1"}))
        assert "crc32 not match" in wrong_crc.remark
        no_json = await peer.refused(Code.REGISTER_BROKER, b"{", **fields)
        assert "the body is no RegisterBrokerBody" in no_json.remark
        no_zlib = await peer.refused(Code.REGISTER_BROKER, b"{}", **(fields | {"compressed": "true"}))
        assert "no compressed RegisterBrokerBody" in no_zlib.remark
        bomb = zlib.compress(bytes(65 << 20))
        too_much = await peer.refused(Code.REGISTER_BROKER, bomb, **(fields | {"compressed": "true"}))
        assert "more than" in too_much.remark
        assert await peer.topics() == []


@pytest.mark.shows("NS-36", "NS-32", "RP-06")
@in_loop
async def test_key_values_are_set_read_listed_and_deleted(tmp_path: Path) -> None:
    order = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}
    async with name_server(tmp_path, orderMessageEnable=True) as peer:
        assert (await peer.refused(Code.GET_KV_CONFIG, **order)).code is ResponseCode.QUERY_NOT_FOUND
        missing = await peer.refused(Code.GET_KVLIST_BY_NAMESPACE, namespace="ORDER_TOPIC_CONFIG")
        assert missing.code is ResponseCode.QUERY_NOT_FOUND
        assert (await peer.register()).body == b""
        assert (await peer.route()).order_topic_conf is None
        await peer.ask(Code.PUT_KV_CONFIG, value="broker-a:4", **order)
        assert (await peer.ask(Code.GET_KV_CONFIG, **order)).fields == {"value": "broker-a:4"}
        assert KVTable.from_json((await peer.register()).body).table == {"T": "broker-a:4"}
        assert (await peer.route()).order_topic_conf == "broker-a:4"
        await peer.ask(Code.DELETE_KV_CONFIG, **order)
        listed = await peer.ask(Code.GET_KVLIST_BY_NAMESPACE, namespace="ORDER_TOPIC_CONFIG")
        assert KVTable.from_json(listed.body).table == {}
        assert "is missing" in (await peer.refused(Code.PUT_KV_CONFIG, **order)).remark


@in_loop
async def test_write_permission_is_wiped_and_given_back(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        wiped = await peer.ask(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-a")
        assert wiped.fields == {"wipeTopicCount": "2"}
        assert (await peer.route()).queue_datas[0].perm == 4
        await peer.register()
        assert (await peer.route()).queue_datas[0].perm == 4
        added = await peer.ask(Code.ADD_WRITE_PERM_OF_BROKER, brokerName="broker-a")
        assert added.fields == {"addTopicCount": "2"}
        assert (await peer.route()).queue_datas[0].perm == 6
        nobody = await peer.ask(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="nobody")
        assert nobody.fields == {"wipeTopicCount": "0"}


@in_loop
async def test_topics_are_given_and_deleted_by_administrators(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        queues = TopicRouteData(queue_datas=[QueueData(broker_name="broker-a", perm=6)])
        await peer.ask(Code.REGISTER_TOPIC_IN_NAMESRV, queues.to_json(), topic="N")
        assert await peer.topics() == ["T", "U", "N"]
        await peer.ask(Code.DELETE_TOPIC_IN_NAMESRV, topic="N", clusterName="nowhere")
        assert await peer.topics() == ["T", "U", "N"]
        await peer.ask(Code.DELETE_TOPIC_IN_NAMESRV, topic="N", clusterName="C")
        await peer.ask(Code.DELETE_TOPIC_IN_NAMESRV, topic="U")
        await peer.ask(Code.DELETE_TOPIC_IN_NAMESRV, topic="never was")
        assert await peer.topics() == ["T"]


@in_loop
async def test_lists_of_every_kind(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        codes = {
            Code.GET_SYSTEM_TOPIC_LIST_FROM_NS: ["C", "broker-a"],
            Code.GET_TOPICS_BY_CLUSTER: ["T", "U"],
            Code.GET_UNIT_TOPIC_LIST: [],
            Code.GET_HAS_UNIT_SUB_TOPIC_LIST: [],
            Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: [],
        }
        for code, expected in codes.items():
            assert TopicList.from_json((await peer.ask(code, cluster="C")).body).topic_list == expected
        info = ClusterInfo.from_json((await peer.ask(Code.GET_BROKER_CLUSTER_INFO)).body)
        assert info.cluster_addr_table == {"C": ["broker-a"]}


@in_loop
async def test_lists_can_be_switched_off(tmp_path: Path) -> None:
    async with name_server(tmp_path, enableAllTopicList=False, enableTopicList=False) as peer:
        for code in (Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.GET_TOPICS_BY_CLUSTER):
            assert (await peer.refused(code, cluster="C")).remark == "disable"


@in_loop
async def test_zone_mode_answers_with_the_brokers_of_the_zone(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register(fields={"__ZONE_NAME": "z1"})
        await peer.register("broker-b", address="127.0.0.1:20911", fields={"__ZONE_NAME": "z2"})
        names = {each.broker_name for each in (await peer.route(__ZONE_NAME="z2")).broker_datas}
        assert names == {"broker-a", "broker-b"}
        near = await peer.route(__ZONE_NAME="Z2", __ZONE_MODE="true")
        assert [each.broker_name for each in near.broker_datas] == ["broker-b"]
        assert [each.broker_name for each in near.queue_datas] == ["broker-b"]


@in_loop
async def test_no_routes_while_the_server_waits_for_brokers(tmp_path: Path) -> None:
    async with name_server(tmp_path, needWaitForService=True) as peer:
        await peer.register()
        assert (await peer.refused(Code.GET_ROUTEINFO_BY_TOPIC, topic="T")).remark == "name server not ready"
        await peer.ask(Code.UPDATE_NAMESRV_CONFIG, b"waitSecondsForService=0")
        assert (await peer.route()).queue_datas


@in_loop
async def test_members_are_told_who_has_the_smallest_id(tmp_path: Path) -> None:
    told: list[dict[str, str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                length = int.from_bytes(await reader.readexactly(4), "big")
                data = await reader.readexactly(length)
                header = fastjson.loads(data[4:])
                assert (header["code"], header["flag"]) == (Code.NOTIFY_MIN_BROKER_ID_CHANGE, 2)
                told.append(header["extFields"])
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    slave = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with name_server(tmp_path, notifyMinBrokerIdChanged=True) as peer:
        await peer.register(broker_id=1, address=slave)
        broker = Peer(peer.address)
        await broker.register(address=MASTER)
        await until(lambda: len(told) == 1, "the notice of the master")
        assert told[0]["minBrokerAddr"] == MASTER
        assert told[0]["haBrokerAddr"] == MASTER + "2"
        await broker.client.stop()
        await until(lambda: len(told) == 2, "the notice of its end")
        assert told[1] == {
            "minBrokerId": "1",
            "brokerName": "broker-a",
            "minBrokerAddr": slave,
            "offlineBrokerAddr": MASTER,
        }
    listener.close()
    await listener.wait_closed()


@in_loop
async def test_settings_are_shown_and_changed_in_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.write_text("# mine\norderMessageEnable = \\\n  false\nenableTopicList=true\n")
    async with name_server(tmp_path) as peer:
        shown = (await peer.ask(Code.GET_NAMESRV_CONFIG)).body.decode()
        assert "orderMessageEnable=false\n" in shown
        assert "serverChannelMaxIdleTimeSeconds=120\n" in shown
        await peer.ask(Code.UPDATE_NAMESRV_CONFIG, b"orderMessageEnable=true")
        assert "orderMessageEnable=true\n" in (await peer.ask(Code.GET_NAMESRV_CONFIG)).body.decode()
    assert path.read_text() == "# mine\nenableTopicList=true\norderMessageEnable=true\n"


@pytest.mark.parametrize(
    ("text", "code", "remark"),
    [
        (b"kvConfigPath=/elsewhere", ResponseCode.NO_PERMISSION, "black list: kvConfigPath"),
        (b"configBlackList=", ResponseCode.NO_PERMISSION, "black list: configBlackList"),
        (b"config.storePath=/etc/profile", ResponseCode.NO_PERMISSION, "black list: configStorePath"),
        (b"config.black.list=", ResponseCode.NO_PERMISSION, "black list: configBlackList"),
        (b"kv.configPath=/elsewhere", ResponseCode.NO_PERMISSION, "black list: kvConfigPath"),
        (b"orderMesageEnable=true", ResponseCode.INVALID_PARAMETER, "did you mean 'orderMessageEnable'"),
        (b"orderMessageEnable=perhaps", ResponseCode.INVALID_PARAMETER, "must be true or false"),
        (b"\xff\xfe", ResponseCode.SYSTEM_ERROR, "not UTF-8"),
    ],
)
@in_loop
async def test_a_change_that_cannot_be_is_refused_whole(
    tmp_path: Path, text: bytes, code: ResponseCode, remark: str
) -> None:
    async with name_server(tmp_path) as peer:
        before = (await peer.ask(Code.GET_NAMESRV_CONFIG)).body
        error = await peer.refused(Code.UPDATE_NAMESRV_CONFIG, b"enableTopicList=false\n" + text)
        assert error.code is code
        assert remark in error.remark
        assert (await peer.ask(Code.GET_NAMESRV_CONFIG)).body == before
        assert not (tmp_path / "namesrv.properties").exists()


NONSENSE_FIELDS = [
    {},
    dict.fromkeys(("topic", "brokerName", "brokerAddr", "clusterName", "namespace", "key", "cluster"), "?"),
    dict.fromkeys(("brokerName", "brokerAddr", "clusterName", "haServerAddr"), "x") | {"brokerId": "0"},
    dict.fromkeys(("brokerName", "brokerAddr", "clusterName", "haServerAddr"), "x")
    | {"brokerId": "-9223372036854775808", "compressed": "true"},
]
NONSENSE_BODIES = [
    b"",
    b"null",
    b"[]",
    b"7",
    b"{",
    b"\xff\xfe",
    b"[" * 50_000,
    b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":null,"U":{"perm":{}}}}}',
    b'{"queueDatas":[{}],"counter":"many"}',
    zlib.compress(b"\0\0\0\2{}\0\0\0\0\0\0\0\1" + b"5" + b"\0\0\0\0"),
    zlib.compress(b"\0\0\0\2{}\x7f\0\0\0"),
]


@in_loop
async def test_nonsense_is_answered_and_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    everything = range(1 << 16)
    async with name_server(tmp_path) as peer:
        await peer.register("well", address="w:1")
        codes = {
            code
            for handlers in (BrokerHandlers, RouteHandlers, TopicHandlers, ConfigHandlers)
            for method in vars(handlers).values()
            for code in getattr(method, "handles", ())
        }
        assert len(codes) == 23
        nobody = Client()
        for code in codes:
            for fields in NONSENSE_FIELDS:
                for body in NONSENSE_BODIES:
                    await nobody.call(peer.address, code, fields=fields, body=body, accept=everything)
        await nobody.stop()
        assert (await peer.route("U")).broker_datas[0].broker_name == "well"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.shows("NS-35")
@in_loop
async def test_name_servers_know_nothing_of_each_other(tmp_path: Path) -> None:
    async with name_server(tmp_path / "1") as first, name_server(tmp_path / "2") as second:
        await first.register()
        assert await second.topics() == []
        await second.register()
        assert await second.topics() == await first.topics()


@in_loop
async def test_a_start_at_a_port_in_use_fails_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        port = int(peer.address.rpartition(":")[2])
        with pytest.raises(OSError, match=r"(?i)in use"):
            async with name_server(tmp_path, listenPort=port):
                pass
        await peer.register()


@pytest.mark.shows("NS-07")
@in_loop
async def test_a_restart_forgets_routes_and_keeps_key_values(tmp_path: Path) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        await peer.ask(Code.PUT_KV_CONFIG, namespace="n", key="k", value="v")
    async with name_server(tmp_path) as peer:
        assert await peer.topics() == []
        assert (await peer.ask(Code.GET_KV_CONFIG, namespace="n", key="k")).fields == {"value": "v"}
    assert json.loads((tmp_path / "kvConfig.json").read_bytes()) == {"configTable": {"n": {"k": "v"}}}


@pytest.mark.parametrize(
    ("code", "body", "fields"),
    [
        (Code.PUT_KV_CONFIG, b"", {"namespace": "n", "key": "k", "value": "v"}),
        (Code.UPDATE_NAMESRV_CONFIG, b"enableTopicList=true", {}),
    ],
)
@in_loop
async def test_routes_are_answered_while_changes_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: Code, body: bytes, fields: dict[str, str]
) -> None:
    async with name_server(tmp_path) as peer:
        await peer.register()
        with SlowDisk(monkeypatch, files) as disk:
            ask = functools.partial(
                peer.client.call, peer.address, code, fields=fields, body=body, timeout=20
            )
            changes = [asyncio.create_task(ask()) for _ in range(100)]
            await disk.until_writing()
            assert (await peer.route()).queue_datas
            assert not any(change.done() for change in changes)
        await asyncio.gather(*changes)
        assert disk.writes < len(changes) / 2
