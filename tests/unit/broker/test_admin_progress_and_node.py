"""What `consumerProgress`, `resetOffsetByTime`, `queryMsgById`, `brokerStatus` and their like ask."""

import asyncio
from pathlib import Path

import pytest

from tailfin._engine import decode_message_id
from tailfin.broker.app import Broker
from tailfin.config import BrokerSettings, files
from tailfin.message import Message
from tailfin.wire import fastjson
from tailfin.wire.bodies.clients import ResetOffsetBody
from tailfin.wire.bodies.common import KVTable
from tailfin.wire.bodies.stats import (
    BrokerStatsData,
    ConsumeStats,
    ConsumeStatsList,
    QueryConsumeQueueResponseBody,
)
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK, Talker, eventually, messages, running
from tests.unit.broker.test_life import settings
from tests.unit.loops import in_loop
from tests.unit.slow_disk import SlowDisk


async def consumed(talker: Talker, count: int = 3, upto: int = 1) -> None:
    """Send to queue 0 of T, and commit some of it for G."""
    for number in range(count):
        await talker.send("T", b"m%d" % number, properties={"KEYS": f"k{number}", "UNIQ_KEY": f"u{number}"})

    async def there() -> bool:
        return (await talker.ask(Code.GET_MAX_OFFSET, {"topic": "T", "queueId": 0})).fields["offset"] == str(
            count
        )

    await eventually(there)
    await talker.pull("T")
    commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": upto}
    await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)


@in_loop
async def test_progress_of_a_group(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await consumed(talker)
        for fields in ({"consumerGroup": "G"}, {"consumerGroup": "G", "topic": "T"}):
            found = await talker.ask(Code.GET_CONSUME_STATS, fields)
            table = ConsumeStats.from_json(found.body).offset_table
            assert {queue.queue_id for queue in table} == {0, 1, 2, 3}
            first = next(each for queue, each in table.items() if queue.queue_id == 0)
            assert (first.broker_offset, first.consumer_offset, first.pull_offset) == (3, 1, 3)
            assert first.last_timestamp > 0
        found = await talker.ask(Code.GET_BROKER_CONSUME_STATS, {"isOrder": "false"})
        everything = ConsumeStatsList.from_json(found.body)
        assert (everything.total_diff, everything.total_inflight_diff) == (2, 2)
        assert [list(each) for each in everything.consume_stats_list] == [["G"]]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"timestamp": -1, "isForce": "true"}, 3),
        ({"timestamp": 0, "isForce": "true"}, 0),
        ({"timestamp": 0, "isForce": "true", "queueId": 0, "offset": 2}, 2),
    ],
)
@in_loop
async def test_reset_sends_the_next_pull_to_the_target(
    tmp_path: Path, fields: dict[str, object], target: int
) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        reset = await talker.ask(Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "T", "group": "G", **fields})
        assert reset.code == OK
        table = ResetOffsetBody.from_json(reset.body).offset_table
        assert next(offset for queue, offset in table.items() if queue.queue_id == 0) == target
        moved = await talker.pull("T", offset=1)
        assert moved.code == ResponseCode.PULL_OFFSET_MOVED
        assert moved.fields["nextBeginOffset"] == str(target)
        assert broker.offsets.get("G", "T", 0) == target


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "U"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"group": "H"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"queueId": 0, "offset": 99}, ResponseCode.SYSTEM_ERROR),
        ({"queueId": 9}, ResponseCode.INVALID_PARAMETER),
    ],
)
@in_loop
async def test_reset_that_cannot_be_is_refused(tmp_path: Path, fields: dict[str, object], code: int) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        asked = {"topic": "T", "group": "G", "timestamp": 0, "isForce": "true", **fields}
        assert (await talker.ask(Code.INVOKE_BROKER_TO_RESET_OFFSET, asked)).code == code
        assert broker.offsets.get("G", "T", 0) == 1


@in_loop
async def test_reset_at_the_clients_reaches_every_member(tmp_path: Path) -> None:
    async with running(tmp_path, useServerSideResetOffset=False) as (_, _, talker):
        await consumed(talker)
        for queue_id in range(1, 4):
            commit = {"consumerGroup": "G", "topic": "T", "queueId": queue_id, "commitOffset": 0}
            await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)
        asked = {"topic": "T", "group": "G", "timestamp": 0, "isForce": "true"}
        offline = await talker.ask(Code.INVOKE_BROKER_TO_RESET_OFFSET, asked)
        assert offline.code == ResponseCode.CONSUMER_NOT_ONLINE
        await talker.beat(topics={"T": "*"})
        assert (await talker.ask(Code.INVOKE_BROKER_TO_RESET_OFFSET, asked)).code == OK
        heard = [frame for frame in talker.heard if frame.code == Code.RESET_CONSUMER_CLIENT_OFFSET]
        assert len(ResetOffsetBody.from_json(heard[0].body).offset_table) == 4


@in_loop
async def test_offsets_are_cloned(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        fields = {"srcGroup": "G", "destGroup": "Copy", "topic": "T"}
        assert (await talker.ask(Code.CLONE_GROUP_OFFSET, fields)).code == OK
        assert broker.offsets.get("Copy", "T", 0) == 1
        everything = await talker.ask(Code.GET_ALL_CONSUMER_OFFSET)
        assert fastjson.loads(everything.body)["offsetTable"]["T@Copy"] == {"0": 1}


@pytest.mark.shows("QY-01", "QY-02", "QY-05")
@in_loop
async def test_messages_are_found_by_key_id_and_time(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        span = {"beginTimestamp": 0, "endTimestamp": 4_000_000_000_000}

        async def by_key(key: str, **more: object) -> list[bytes]:
            fields = {"topic": "T", "key": key, "maxNum": 32, **span, **more}
            return [m.body for m in messages((await talker.ask(Code.QUERY_MESSAGE, fields)).body)]

        async def indexed() -> bool:
            return await by_key("k1") == [b"m1"]

        await eventually(indexed)
        assert await by_key("u2", _UNIQUE_KEY_QUERY="true") == [b"m2"]
        nothing = await talker.ask(Code.QUERY_MESSAGE, {"topic": "T", "key": "no", "maxNum": 32, **span})
        assert nothing.code == ResponseCode.QUERY_NOT_FOUND
        second = broker.store.queue_units("T", 0, 1, 1)[0][0]
        viewed = await talker.ask(Code.VIEW_MESSAGE_BY_ID, {"offset": second})
        assert Message.decode(viewed.body).body == b"m1"
        for wrong in (second + 1, -5, 1 << 60):
            missing = await talker.ask(Code.VIEW_MESSAGE_BY_ID, {"offset": wrong})
            assert missing.code == ResponseCode.SYSTEM_ERROR
        place = {"topic": "T", "queueId": 0}
        start = await talker.ask(Code.SEARCH_OFFSET_BY_TIMESTAMP, {**place, "timestamp": 0})
        assert start.fields["offset"] == "0"
        earliest = await talker.ask(Code.GET_EARLIEST_MSG_STORETIME, place)
        assert int(earliest.fields["timestamp"]) > 1_700_000_000_000
        empty = await talker.ask(Code.GET_EARLIEST_MSG_STORETIME, {"topic": "T", "queueId": 3})
        assert empty.fields["timestamp"] == "-1"


@in_loop
async def test_units_of_a_queue_are_shown(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await consumed(talker)
        place = {"topic": "T", "queueId": 0, "index": 1, "count": 10}
        found = await talker.ask(Code.QUERY_CONSUME_QUEUE, place)
        body = QueryConsumeQueueResponseBody.from_json(found.body)
        assert (body.min_queue_index, body.max_queue_index, len(body.queue_data)) == (0, 3, 2)
        for wrong in ({"index": 9}, {"queueId": 7}, {"topic": "U"}):
            assert (await talker.ask(Code.QUERY_CONSUME_QUEUE, {**place, **wrong})).code == 1


@in_loop
async def test_time_span_and_correction_of_offsets(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await consumed(talker)
        spans = await talker.ask(Code.QUERY_CONSUME_TIME_SPAN, {"topic": "T", "group": "G"})
        first = fastjson.loads(spans.body)["consumeTimeSpanSet"][0]
        assert 0 < first["minTimeStamp"] <= first["maxTimeStamp"]
        corrected = await talker.ask(
            Code.QUERY_CORRECTION_OFFSET, {"compareGroup": "G", "topic": "T", "filterGroups": ""}
        )
        assert fastjson.loads(corrected.body)["correctionOffsets"] == {"0": 1}


@pytest.mark.shows("SS-02")
@in_loop
async def test_figures_of_the_broker(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        found = await talker.ask(Code.GET_BROKER_RUNTIME_INFO)
        table = KVTable.from_json(found.body).table
        assert table["msgPutTotalTodayNow"] == "3"
        assert table["brokerVersionDesc"] == "V5_3_3"
        assert int(table["commitLogMaxOffset"]) > 0
        for rates in ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferredTps"):
            assert len(table[rates].split()) == 3
        assert int(table["getMessageEntireTimeMax"]) >= 0
        assert sum(int(part.rpartition(":")[2]) for part in table["putMessageDistributeTime"].split()) == 3
        assert int(table["putLatency99"]) <= int(table["putMessageEntireTimeMax"])
        unknown = await talker.ask(
            Code.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "U"}
        )
        assert unknown.code == ResponseCode.SYSTEM_ERROR
        broker.counting.sample()
        known = await talker.ask(
            Code.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "T"}
        )
        minute = BrokerStatsData.from_json(known.body).stats_minute
        assert minute is not None
        assert minute.sum == 3


@in_loop
async def test_figures_are_told_though_the_first_message_is_damaged(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T", b"the first body")
        with (tmp_path / "broker-a" / "commitlog" / f"{0:020}").open("r+b") as log:
            log.seek(log.read(4096).index(b"the first body"))
            log.write(b"THE")
        found = await talker.ask(Code.GET_BROKER_RUNTIME_INFO)
        assert found.code == OK
        assert KVTable.from_json(found.body).table["earliestMessageTimeStamp"] == "-1"


@in_loop
async def test_totals_count_reads_and_leave_system_topics_out(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await consumed(talker)
        await talker.send("BenchmarkTest")
        await talker.pull("T", offset=3)
        totals = broker.counting.totals()
        assert (totals["put"], totals["users_put"], totals["get"], totals["users_get"]) == (4, 3, 3, 3)
        assert (totals["found"], totals["missed"], totals["read"]) == (1, 1, 2)
        broker.counting.sample()
        for name, count in (("PUT", 3), ("GET", 3)):
            fields = {"statsName": f"BROKER_{name}_NUMS_WITHOUT_SYSTEM_TOPIC", "statsKey": "DefaultCluster"}
            found = await talker.ask(Code.VIEW_BROKER_STATS_DATA, fields)
            minute = BrokerStatsData.from_json(found.body).stats_minute
            assert minute is not None
            assert minute.sum == count


@pytest.mark.shows("QY-04")
@in_loop
async def test_message_id_leads_to_the_broker_and_the_place_in_its_log(tmp_path: Path) -> None:
    async with running(tmp_path, messageIndexEnable=False) as (_, broker, talker):
        await talker.send("T", b"one")
        sent = await talker.send("T", b"two")
        address, offset = decode_message_id(sent.fields["msgId"])
        assert address == broker.address
        viewed = await talker.ask(Code.VIEW_MESSAGE_BY_ID, {"offset": offset})
        assert Message.decode(viewed.body).body == b"two"


@in_loop
async def test_settings_are_shown_changed_and_kept_in_their_file(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("# mine\ntraceOn = true\n")
    async with running(tmp_path / "data", brokerConfigPath=str(conf)) as (_, broker, talker):
        shown = await talker.ask(Code.GET_BROKER_CONFIG)
        assert "brokerName=broker-a" in shown.body.decode().splitlines()
        assert "counter" in shown.fields["version"]
        changed = await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"traceOn=false\nmaxMessageSize=100\n")
        assert changed.code == OK
        assert not broker.config.traceOn
        assert broker.address == talker.address == broker.settings.store.storeHost
        assert (await talker.send("T", b"x")).fields["TRACE_ON"] == "false"
        assert (await talker.send("T", b"x" * 5000)).code == ResponseCode.MESSAGE_ILLEGAL
        text = conf.read_text()
        assert text.startswith("# mine\n")
        assert "traceOn=false" in text
        for body, code in (
            (b"brokerConfigPath=/etc/passwd", ResponseCode.NO_PERMISSION),
            (b"configBlackList=", ResponseCode.NO_PERMISSION),
            (b"broker.configPath=/etc/profile", ResponseCode.NO_PERMISSION),
            (b"config.black.list=", ResponseCode.NO_PERMISSION),
            (b"traceOnn=true", ResponseCode.INVALID_PARAMETER),
            (b"maxMessageSize=big", ResponseCode.INVALID_PARAMETER),
            (b"\xff\xfe", ResponseCode.SYSTEM_ERROR),
        ):
            assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=body)).code == code
        assert conf.read_text() == text


@in_loop
async def test_settings_that_cannot_be_kept_are_not_in_force(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.mkdir()
    async with running(tmp_path / "data", brokerConfigPath=str(conf)) as (_, broker, talker):
        refused = await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"maxMessageSize=100")
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert broker.settings.store.maxMessageSize == 4 << 20
        assert (await talker.send("T", b"x" * 5000)).code == OK


@in_loop
async def test_black_list_and_file_know_a_setting_in_any_spelling(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("trace.on=true\nconfigBlackList=warm.mapedFileEnable\n")
    async with Broker(BrokerSettings.load(conf, **settings(tmp_path / "data").given)) as broker:
        talker = Talker(broker.address)
        for body in (b"warmMappedFileEnable=true", b"warmMapedFileEnable=true"):
            refused = await talker.ask(Code.UPDATE_BROKER_CONFIG, body=body)
            assert refused.code == ResponseCode.NO_PERMISSION
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"traceOn=false")).code == OK
        await talker.client.stop()
    assert conf.read_text() == "configBlackList=warm.mapedFileEnable\ntraceOn=false\n"
    assert not BrokerSettings.load(conf).broker.traceOn


@in_loop
async def test_broker_without_write_permission_is_told_to_name_servers(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, _, talker):
        await talker.send("T")
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"brokerPermission=4")).code == OK
        route = await talker.client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "T"})
        assert fastjson.loads(route.body)["queueDatas"][0]["perm"] == 4


@in_loop
async def test_cleaning_is_done_on_demand(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        assert (await talker.ask(Code.CLEAN_EXPIRED_CONSUMEQUEUE)).code == OK
        assert (await talker.ask(Code.DELETE_EXPIRED_COMMITLOG)).code == OK


@in_loop
async def test_heartbeats_are_answered_while_changed_settings_and_offsets_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("# mine\nmaxMessageSize=100\n")
    async with running(tmp_path / "data", brokerConfigPath=str(conf)) as (_, broker, talker):
        await consumed(talker)
        with SlowDisk(monkeypatch, files) as disk:
            bodies = [b"maxMessageSize=%d" % (1000 + number) for number in range(50)]
            waiting: list[asyncio.Task[object]] = [
                asyncio.create_task(talker.ask(Code.UPDATE_BROKER_CONFIG, body=body)) for body in bodies
            ]
            waiting.append(asyncio.create_task(broker.offsets.persist_if_changed()))
            await disk.until_writing()
            assert (await talker.beat(topics={"T": "*"})).code == OK
            assert not any(each.done() for each in waiting)
        await asyncio.gather(*waiting)
        assert conf.read_text() == "# mine\nmaxMessageSize=1049\n"
        assert disk.writes < len(waiting) / 2


@in_loop
async def test_changed_settings_of_cleaning_hold_at_once_and_other_paths_only_after_a_start(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, mappedFileSizeCommitLog=1 << 20) as (_, broker, talker):
        for _ in range(3):
            await talker.send("T", b"x" * (900 << 10))
        assert len(broker.store.log_files()) == 3
        changes = b"fileReservedTime=0\nstorePathCommitLog=" + bytes(tmp_path / "nowhere")
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=changes)).code == OK

        async def expired_ones_are_gone() -> bool:
            assert (await talker.ask(Code.DELETE_EXPIRED_COMMITLOG)).code == OK
            return len(broker.store.log_files()) == 1

        await eventually(expired_ones_are_gone)
        info = await talker.ask(Code.GET_BROKER_RUNTIME_INFO)
        assert "Total" in KVTable.from_json(info.body).table["commitLogDirCapacity"]


@in_loop
async def test_a_flood_of_cleaning_requests_is_answered_and_harms_no_message(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await consumed(talker)
        codes = (Code.CLEAN_EXPIRED_CONSUMEQUEUE, Code.DELETE_EXPIRED_COMMITLOG, Code.CLEAN_UNUSED_TOPIC)
        answers = await asyncio.gather(*(talker.ask(code) for code in codes * 100))
        assert {answer.code for answer in answers} == {OK}
        assert len(await talker.read("T", 3)) == 3
