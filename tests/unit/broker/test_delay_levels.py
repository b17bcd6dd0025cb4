"""Delay levels: where messages wait, how far each level is, and what a restart finds."""

from pathlib import Path

import pytest

from tailfin.broker.app import Broker
from tailfin.broker.storing import Draft
from tailfin.wire import fastjson
from tailfin.wire.recall import RecallHandle
from tests.unit.broker.talking import OK, eventually, running
from tests.unit.loops import in_loop

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


async def delivered(broker: Broker, level: int, count: int) -> None:
    async def there() -> bool:
        return broker.schedule.progress()[level][0] >= count

    await eventually(there)


@pytest.mark.shows("DL-01", "DL-02", "DL-03", "U-26")
@in_loop
async def test_a_message_waits_in_the_queue_of_its_level_and_keeps_its_properties(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s 2s 1h") as (_, broker, talker):
        mine = {"TAGS": "a", "KEYS": "k", "WAIT": "true", "UNIQ_KEY": "U"}
        await talker.send("T", b"x", queue_id=3, properties={**mine, "DELAY": "1"})
        await talker.send("T", b"y", properties={**mine, "DELAY": "77"})
        assert broker.store.max_offset(SCHEDULE, 0) == 1
        (waiting,) = await talker.read(SCHEDULE, 1, queue_id=2)
        assert waiting.properties["DELAY"] == "3", "the highest level there is"
        (waiting,) = await talker.read(SCHEDULE, 1)
        (message,) = await talker.read("T", 1, queue_id=3)
        assert message.properties == waiting.properties
        assert {
            **mine,
            "DELAY": "1",
            "REAL_TOPIC": "T",
            "REAL_QID": "3",
        }.items() <= message.properties.items()
        assert (message.body, message.born_timestamp) == (waiting.body, waiting.born_timestamp)
        assert message.store_timestamp - waiting.store_timestamp >= 1000


@in_loop
async def test_usual_waiting_messages_are_stored_without_python(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T")
        for asked in ({"DELAY": "3"}, {"TIMER_DELAY_SEC": "60"}, {"TIMER_DELAY_MS": "60000"}):
            sent = await talker.send("T", queue_id=2, properties={**asked, "UNIQ_KEY": "U"})
            assert (sent.code, sent.fields["queueId"], sent.fields["transactionId"]) == (OK, "2", "U")
            assert ("recallHandle" in sent.fields) == ("DELAY" not in asked)
        assert RecallHandle.decode(sent.fields["recallHandle"]).unique_key == "U"
        stored = broker.hot.counters()["TOPIC_PUT_NUMS"]
        assert (stored[SCHEDULE], stored["rmq_sys_wheel_timer"]) == (1, 2)
        for topic, queue_id in ((SCHEDULE, 2), ("rmq_sys_wheel_timer", 0)):
            for message in await talker.read(topic, 1, queue_id=queue_id):
                properties = message.properties
                assert (properties["REAL_TOPIC"], properties["REAL_QID"]) == ("T", "2")
                assert ("TIMER_OUT_MS" in properties) == (topic != SCHEDULE)


@pytest.mark.shows("DL-11")
@in_loop
async def test_a_hook_is_told_that_a_message_waits(tmp_path: Path) -> None:
    kinds: list[str] = []
    async with running(tmp_path, messageDelayLevel="1h") as (_, broker, talker):
        await talker.send("T")
        broker.hooks.on_send("T", before=lambda context: kinds.append(context.kind))
        for asked in ({}, {"DELAY": "1"}, {"TIMER_DELAY_SEC": "60"}, {"__STARTDELIVERTIME": "1"}):
            assert (await talker.send("T", properties=asked)).code == OK
    assert kinds == ["Normal_Msg", "Delay_Msg", "Delay_Msg", "Delay_Msg"]


@pytest.mark.shows("DL-10")
@pytest.mark.parametrize(("flag", "waits"), [(0x0, True), (0x4, False), (0x8, True), (0xC, False)])
@in_loop
async def test_halves_and_what_was_rolled_back_do_not_wait(tmp_path: Path, flag: int, waits: bool) -> None:
    async with running(tmp_path, messageDelayLevel="1h") as (_, broker, _talker):
        draft = Draft(topic="T", queue_id=0, body=b"x", sys_flag=flag, properties={"DELAY": "1"})
        assert (broker.waiting.placed(draft).topic == SCHEDULE) == waits


@pytest.mark.shows("DL-04", "DL-05", "DL-06")
@in_loop
async def test_how_far_each_level_is_stands_in_rocketmqs_file(tmp_path: Path) -> None:
    settings = {"messageDelayLevel": "1s 1h", "flushDelayOffsetInterval": 100}
    async with running(tmp_path, **settings) as (_, broker, talker):
        for level in ("1", "1", "2"):
            await talker.send("T", properties={"DELAY": level})
        await talker.read("T", 2)
        path = broker.config_folder / "delayOffset.json"

        async def written() -> bool:
            return bool(fastjson.loads(path.read_bytes())["offsetTable"] == {"1": 2})

        await eventually(written)
        content = fastjson.loads(path.read_bytes())
        assert set(content) == {"offsetTable", "dataVersion", "deliveredFrom"}
        assert set(content["dataVersion"]) == {"counter", "stateVersion", "timestamp"}
    async with running(tmp_path, **settings) as (_, broker, talker):
        assert broker.schedule.progress()[1] == (2, 2)
        assert broker.schedule.progress()[2] == (0, 1)
        await talker.send("T", b"third", properties={"DELAY": "1"})
        await delivered(broker, 1, 3)
        assert [message.body for message in await talker.read("T", 3)] == [b"hello", b"hello", b"third"]


@pytest.mark.parametrize("kept", [b'{"offsetTable":{1:99,2:-5}}', b'{"offsetTable":{1:0}}'])
@in_loop
async def test_offsets_outside_the_queue_are_brought_back_into_it(tmp_path: Path, kept: bytes) -> None:
    async with running(tmp_path, messageDelayLevel="1h 1h") as (_, broker, talker):
        await talker.send("T", properties={"DELAY": "1"})
        path = broker.config_folder / "delayOffset.json"
    path.write_bytes(kept)
    async with running(tmp_path, messageDelayLevel="1h 1h") as (_, broker, talker):
        assert broker.schedule.progress()[1] == (1 if b"99" in kept else 0, 1)
        assert broker.schedule.progress()[2] == (0, 0)


@pytest.mark.shows("DL-09")
@in_loop
async def test_a_slave_delivers_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s 1h") as (_, broker, talker):
        await talker.send("T", properties={"DELAY": "2"})
        path = broker.config_folder / "delayOffset.json"
    before = path.read_bytes()
    slave = {"brokerRole": "SLAVE", "brokerId": 1, "messageDelayLevel": "1s 1s"}
    async with running(tmp_path, **slave) as (_, broker, talker):
        assert broker.schedule.progress()[2] == (0, 1)
        assert not any(name in repr(broker._timers) for name in ("Schedule.run", "Timers.run"))
    assert path.read_bytes() == before


@in_loop
async def test_a_store_that_takes_no_writes_delays_delivery_and_loses_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s") as (_, broker, talker):
        assert (await talker.send("T", properties={"DELAY": "1"})).code == OK
        broker.store.set_writable("disk_full", False)

        async def in_trouble() -> bool:
            return bool(broker.schedule._troubled)

        await eventually(in_trouble)
        broker.store.set_writable("disk_full", True)
        assert len(await talker.read("T", 1)) == 1


@in_loop
async def test_delivered_messages_are_counted_for_their_topic(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s") as (_, broker, talker):
        await talker.send("T", properties={"DELAY": "1"})
        before = broker.counting.counters()["TOPIC_PUT_NUMS"].get("T", 0)
        await talker.read("T", 1)

        async def counted() -> bool:
            return broker.counting.counters()["TOPIC_PUT_NUMS"].get("T", 0) == before + 1

        await eventually(counted)
