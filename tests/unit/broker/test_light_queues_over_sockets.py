"""Light queues: messages of one topic that are read by the names of many small ones."""

import asyncio
from pathlib import Path

import pytest

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.groups import ConsumerOffsetSerializeWrapper
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK, Talker, eventually, messages, running
from tests.unit.loops import in_loop

LIGHT: dict[str, object] = {"enableLmq": True, "enableMultiDispatch": True}


async def dispatch(talker: Talker, *names: str, body: bytes = b"x") -> int:
    sent = await talker.send("T", body, properties={"INNER_MULTI_DISPATCH": ",".join(names), "TAGS": "a"})
    return sent.code


@in_loop
async def test_message_is_pulled_from_each_light_queue_that_it_names(tmp_path: Path) -> None:
    async with running(tmp_path, **LIGHT) as (_, broker, talker):
        for body in (b"one", b"two", b"three"):
            assert await dispatch(talker, "%LMQ%a", *["%LMQ%b"] * (body == b"two"), body=body) == OK
        assert [message.body for message in await talker.read("%LMQ%a", 3)] == [b"one", b"two", b"three"]
        (of_b,) = await talker.read("%LMQ%b", 1)
        assert (of_b.body, of_b.topic) == (b"two", "T")
        assert of_b.get_property("INNER_MULTI_QUEUE_OFFSET") == "1,0"
        assert len(await talker.read("T", 3)) == 3
        await broker.topics_settled()
        assert not any("%LMQ%" in (topic.topic_name or "") for topic in broker.topics.all())


@pytest.mark.shows("RD-17")
@in_loop
async def test_waiting_reader_of_a_light_queue_is_woken_by_its_message(tmp_path: Path) -> None:
    async with running(tmp_path, **LIGHT) as (_, broker, talker):
        assert await dispatch(talker, "%LMQ%a", body=b"old") == OK
        await talker.read("%LMQ%a", 1)
        sender = Talker(talker.address)

        async def held() -> bool:
            return broker.hot.held_pulls() == 1

        async def send_when_held() -> None:
            await eventually(held)
            assert await dispatch(sender, "%LMQ%a", body=b"new") == OK

        # Held for longer than this test has: only an arrival ends it.
        pull = talker.pull("%LMQ%a", "%LMQ%readers", offset=1, hold_ms=60_000)
        found, _ = await asyncio.gather(pull, send_when_held())
        assert [message.body for message in messages(found.body)] == [b"new"]
        await sender.client.stop()


@in_loop
async def test_offsets_of_light_groups_have_a_table_of_their_own_and_stay(tmp_path: Path) -> None:
    commit = {"consumerGroup": "%LMQ%g", "topic": "%LMQ%a", "queueId": 0, "commitOffset": 2}
    async with running(tmp_path, **LIGHT) as (_, broker, talker):
        for _ in range(3):
            assert await dispatch(talker, "%LMQ%a") == OK
        await talker.read("%LMQ%a", 3)
        assert (await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)).code == OK
        await talker.ask(Code.UPDATE_CONSUMER_OFFSET, {**commit, "consumerGroup": "G", "topic": "T"})
        folder = broker.config_folder
    text = (folder / "lmqConsumerOffset.json").read_bytes()
    kept = ConsumerOffsetSerializeWrapper.from_json(text)
    assert (kept.lmq_offset_table, kept.offset_table) == ({"%LMQ%a@%LMQ%g": 2}, {"T@G": {0: 2}})
    assert not (folder / "consumerOffset.json").exists()
    async with running(tmp_path, **LIGHT) as (_, broker, talker):
        asked = {"consumerGroup": "%LMQ%g", "topic": "%LMQ%a", "queueId": 0}
        assert (await talker.ask(Code.QUERY_CONSUMER_OFFSET, asked)).fields["offset"] == "2"
        assert broker.offsets.get("G", "T", 0) == 2
        assert "%LMQ%g" not in {group.group_name for group in broker.groups.all()}


@pytest.mark.parametrize(("before", "after"), [({}, LIGHT), (LIGHT, {})])
@in_loop
async def test_turning_light_queues_on_or_off_costs_no_group_its_place(
    tmp_path: Path, before: dict[str, object], after: dict[str, object]
) -> None:
    async with running(tmp_path, **before) as (_, broker, talker):
        await talker.send("T")
        broker.offsets.commit("G", "T", 0, 1)
    async with running(tmp_path, **after) as (_, broker, _):
        assert broker.offsets.get("G", "T", 0) == 1
        broker.offsets.commit("G", "T", 0, 2)
    for settings, committed in ((before, 3), (after, 4)):
        async with running(tmp_path, **settings) as (_, broker, _):
            assert broker.offsets.get("G", "T", 0) == committed - 1
            broker.offsets.commit("G", "T", 0, committed)


@pytest.mark.parametrize("settings", [{}, LIGHT])
@in_loop
async def test_the_file_that_was_changed_last_is_read_however_often_the_other_was(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    # A Java broker with light queues counts from 0 again with each start.
    async with running(tmp_path, **settings) as (_, broker, _):
        folder = broker.config_folder
    versions = {
        "consumerOffset.json": (50_000, 1_600_000_000_000),
        "lmqConsumerOffset.json": (12, 1_700_000_000_000),
    }
    for name, (counter, timestamp) in versions.items():
        version = DataVersion(counter=counter, timestamp=timestamp)
        table = ConsumerOffsetSerializeWrapper(offset_table={"T@G": {0: counter}}, data_version=version)
        (folder / name).write_bytes(table.to_json())
    async with running(tmp_path, **settings) as (_, broker, _):
        assert broker.offsets.get("G", "T", 0) == 12


@in_loop
async def test_without_light_queues_there_is_no_such_topic(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T")
        refused = await talker.pull("%LMQ%a")
        assert refused.code == ResponseCode.TOPIC_NOT_EXIST


@in_loop
async def test_more_light_queues_than_allowed_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, **LIGHT, maxLmqConsumeQueueNum=1) as (_, _, talker):
        assert await dispatch(talker, "%LMQ%a") == OK
        await talker.read("%LMQ%a", 1)
        refused = await talker.send("T", properties={"INNER_MULTI_DISPATCH": "%LMQ%b"})
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert (refused.remark or "").startswith("[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]")
        assert await dispatch(talker, "%LMQ%a") == OK
