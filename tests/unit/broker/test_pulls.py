"""Pulls that reach Python, offsets, and what each refusal is called."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailfin.broker.protection import stop_the_slow
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK, eventually, left_by_a_kill, messages, running
from tests.unit.loops import in_loop, until

if TYPE_CHECKING:
    from tailfin.broker.hooks import ConsumeContext


@in_loop
async def test_first_pull_makes_its_group_and_is_served(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"one")
        assert "G" not in broker.groups
        assert [m.body for m in await talker.read("T", 1)] == [b"one"]
        assert "G" in broker.groups
        await broker.groups_settled()
        assert "G" in left_by_a_kill(broker.config_folder, tmp_path)[1]


@in_loop
async def test_first_pull_is_held_until_a_message_comes(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", queue_id=1)
        pulling = asyncio.create_task(talker.pull("T", "New", hold_ms=15_000))
        await until(broker.hot.held_pulls, "the pull is held")
        await talker.send("T", b"awaited")
        assert [m.body for m in messages((await pulling).body)] == [b"awaited"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"topic": "Nowhere"}, ResponseCode.TOPIC_NOT_EXIST, "apply first"),
        ({"topic": "T", "queue_id": 9}, ResponseCode.INVALID_PARAMETER, "queueId"),
        ({"topic": "T", "queue_id": -1}, ResponseCode.INVALID_PARAMETER, "queueId"),
        ({"topic": "T", "subscription": None}, ResponseCode.SUBSCRIPTION_NOT_EXIST, "group info"),
        ({"topic": "T", "group": "a b"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "does not exist"),
        ({"topic": "T", "kind": "SQL92", "subscription": "a > 1"}, ResponseCode.SYSTEM_ERROR, "SQL92"),
    ],
)
@in_loop
async def test_refused_pull_says_why(
    tmp_path: Path, arguments: dict[str, object], code: int, says: str
) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T")
        refused = await talker.pull(**arguments)  # type: ignore[arg-type]
        assert refused.code == code
        assert says in (refused.remark or "")


@in_loop
async def test_subscription_must_be_known_and_new_enough(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T", properties={"TAGS": "a"})
        await talker.send("U")
        await talker.beat(topics={"T": "a"}, version=5)
        other = await talker.pull("U", subscription=None, version=5)
        assert other.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
        newer = await talker.pull("T", subscription=None, version=6)
        assert newer.code == ResponseCode.SUBSCRIPTION_NOT_LATEST

        async def served() -> bool:
            return (await talker.pull("T", subscription=None, version=5)).code == OK

        await eventually(served)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [({"brokerPermission": 2}, "1"), ({}, "5")],
)
@in_loop
async def test_forbidden_pull_says_which_rule_forbids(
    tmp_path: Path, settings: dict[str, object], kind: str
) -> None:
    async with running(tmp_path, **settings) as (_, _, talker):
        await talker.send("T")
        await talker.beat(topics={"T": "*"})
        fields = {"group": "G", "topic": "T", "readable": "false"}
        told = await talker.ask(Code.UPDATE_AND_GET_GROUP_FORBIDDEN, fields)
        assert b'"readable":false' in told.body
        refused = await talker.pull("T", subscription=None, version=1)
        assert (refused.code, refused.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, kind)


@in_loop
async def test_stopped_group_and_closed_topic_are_forbidden(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T")
        stopped = b'{"groupName":"Stopped","consumeEnable":false}'
        await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=stopped)
        refused = await talker.pull("T", "Stopped")
        assert (refused.code, refused.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "2")
        topic = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 2}
        await talker.ask(Code.UPDATE_AND_CREATE_TOPIC, {**topic, "topicFilterType": "SINGLE_TAG"})
        refused = await talker.pull("T")
        assert (refused.code, refused.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "3")


@in_loop
async def test_a_pull_that_is_held_goes_by_the_rules_of_when_it_is_answered(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", queue_id=1)
        await talker.pull("T")
        held = asyncio.create_task(talker.pull("T", hold_ms=15_000))
        await until(broker.hot.held_pulls, "the pull is held")
        await talker.ask(
            Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"G","consumeEnable":false}'
        )
        await talker.send("T", b"not for a stopped group")
        assert (await held).code == ResponseCode.NO_PERMISSION


@pytest.mark.shows("OF-01")
@in_loop
async def test_offsets_are_committed_queried_and_kept(tmp_path: Path) -> None:
    place = {"consumerGroup": "G", "topic": "T", "queueId": 0}
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T")
        await talker.read("T", 1)
        first = await talker.ask(Code.QUERY_CONSUMER_OFFSET, place)
        assert (first.code, first.fields["offset"]) == (OK, "0")
        strict = await talker.ask(Code.QUERY_CONSUMER_OFFSET, {**place, "setZeroIfNotFound": "false"})
        assert strict.code == ResponseCode.QUERY_NOT_FOUND
        await talker.pull("T")
        assert (await talker.ask(Code.UPDATE_CONSUMER_OFFSET, {**place, "commitOffset": 1})).code == OK
        assert broker.offsets.get("G", "T", 0) == 1
        assert broker.offsets.topics_of("G") == ["T"]
        assert broker.offsets.groups_of("T") == ["G"]
    text = (broker.config_folder / "consumerOffset.json").read_text()
    assert '"T@G":{' in text
    async with running(tmp_path) as (_, _, talker):
        again = await talker.ask(Code.QUERY_CONSUMER_OFFSET, place)
        assert again.fields["offset"] == "1"


@pytest.mark.parametrize("group", ["Known", "Unknown"])
@in_loop
async def test_new_group_begins_at_0_only_where_that_is_a_message_in_memory(
    tmp_path: Path, group: str
) -> None:
    async with running(tmp_path, accessMessageInMemoryMaxRatio=0) as (_, _, talker):
        await talker.send("Old")
        await talker.read("Old", 1)
        await talker.beat("Known", topics={"Old": "*"})
        for topic, queue_id in (("Old", 0), ("Old", 1)):
            place = {"consumerGroup": group, "topic": topic, "queueId": queue_id}
            assert (await talker.ask(Code.QUERY_CONSUMER_OFFSET, place)).code == ResponseCode.QUERY_NOT_FOUND
    async with running(tmp_path) as (_, _, talker):
        await talker.beat("Known", topics={"Old": "*"})
        for queue_id, code in ((0, OK), (1, ResponseCode.QUERY_NOT_FOUND)):
            place = {"consumerGroup": group, "topic": "Old", "queueId": queue_id}
            assert (await talker.ask(Code.QUERY_CONSUMER_OFFSET, place)).code == code


@in_loop
async def test_changed_offsets_are_written_while_running(tmp_path: Path) -> None:
    async with running(tmp_path, flushConsumerOffsetInterval=20) as (_, broker, talker):
        await talker.send("T")
        await talker.pull("T")
        fields = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 1}
        await talker.ask(Code.UPDATE_CONSUMER_OFFSET, fields)
        file = broker.config_folder / "consumerOffset.json"
        await until(file.exists, "the file is written")


@pytest.mark.shows("U-21")
@in_loop
async def test_consume_hooks_see_the_pulls_of_their_group(tmp_path: Path) -> None:
    seen: list[ConsumeContext] = []
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"one")
        await talker.pull("T", "Watched")
        remove = broker.hooks.on_consume(seen.append, "Watched")

        async def served() -> bool:
            return len(messages((await talker.pull("T", "Watched")).body)) == 1

        await eventually(served)
        assert {(c.group, c.topic, c.queue_id, c.offset) for c in seen} == {("Watched", "T", 0, 0)}
        await talker.pull("T", "Other")
        remove()
        count = len(seen)
        assert (await talker.pull("T", "Watched")).code == OK
        assert len(seen) == count


@in_loop
async def test_group_too_far_behind_may_not_consume_any_more(tmp_path: Path) -> None:
    limits = {"disableConsumeIfConsumerReadSlowly": True, "consumerFallbehindThreshold": 1000}
    async with running(tmp_path, **limits) as (_, broker, talker):
        for group, offset in (("Slow", 0), ("Quick", 20)):
            await talker.send("T")
            await talker.pull("T", group)
            fields = {"consumerGroup": group, "topic": "T", "queueId": 0, "commitOffset": offset}
            await talker.ask(Code.UPDATE_CONSUMER_OFFSET, fields)
        assert stop_the_slow(broker) == []
        for _ in range(18):
            await talker.send("T", b"x" * 100)

        async def dispatched() -> bool:
            return broker.store.max_offset("T", 0) == 20

        await eventually(dispatched)
        assert stop_the_slow(broker) == ["Slow"]
        refused = await talker.pull("T", "Slow")
        assert (refused.code, refused.fields["forbiddenType"]) == (ResponseCode.NO_PERMISSION, "2")
        assert (await talker.pull("T", "Quick")).code == OK


@pytest.mark.shows("U-11", "U-12")
@in_loop
async def test_a_receiver_sees_the_key_that_tells_a_message_sent_twice(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        for unique in ("u1", "u2"):
            sent = await talker.send("ons_test", properties={"KEYS": "ORDERID_100", "UNIQ_KEY": unique})
            assert sent.code == OK
            assert sent.fields["msgId"]
        first, second = await talker.read("ons_test", 2)
        assert first.keys == second.keys == "ORDERID_100"
        assert first.message_id != second.message_id
