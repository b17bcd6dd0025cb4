"""What `updateTopic`, `deleteTopic`, `topicStatus`, `updateSubGroup` and their like ask of a broker."""

import asyncio
import threading
from pathlib import Path

import pytest

from tailfin.store import Store
from tailfin.wire import fastjson
from tailfin.wire.bodies.common import GroupList, TopicList
from tailfin.wire.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper
from tailfin.wire.bodies.stats import TopicStatsTable
from tailfin.wire.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, Talker, eventually, left_by_a_kill, running
from tests.unit.loops import in_loop, until


async def make_topic(talker: Talker, topic: str, **fields: object) -> Frame:
    header = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": 3,
        "writeQueueNums": 3,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": "false",
        **fields,
    }
    return await talker.ask(Code.UPDATE_AND_CREATE_TOPIC, header)


@pytest.mark.shows("TP-07")
@in_loop
async def test_topic_is_made_and_name_servers_know_it_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, broker, talker):
        assert (await make_topic(talker, "T", attributes="+message.type=FIFO")).code == OK
        route = await talker.client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "T"})
        assert fastjson.loads(route.body)["queueDatas"][0]["readQueueNums"] == 3
        kept = left_by_a_kill(broker.config_folder, tmp_path)[0].get("T")
        assert kept is not None
        assert kept.attributes == {"message.type": "FIFO"}
        found = await talker.ask(Code.GET_TOPIC_CONFIG, {"topic": "T"})
        assert TopicConfig.from_json(found.body) == broker.topics.get("T")
        missing = await talker.ask(Code.GET_TOPIC_CONFIG, {"topic": "U"})
        assert missing.code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"topic": "TBW102"}, ResponseCode.INVALID_PARAMETER, "system topic"),
        ({"topic": "a.b"}, ResponseCode.INVALID_PARAMETER, "illegal"),
        ({"topic": ""}, ResponseCode.INVALID_PARAMETER, "blank"),
        ({"topic": "T", "readQueueNums": -1}, ResponseCode.INVALID_PARAMETER, "readQueueNums"),
        ({"topic": "T", "writeQueueNums": 10**9}, ResponseCode.INVALID_PARAMETER, "writeQueueNums"),
        ({"topic": "T", "perm": 99}, ResponseCode.INVALID_PARAMETER, "perm"),
        ({"topic": "T", "topicFilterType": "X"}, ResponseCode.INVALID_PARAMETER, "topicFilterType"),
        ({"topic": "T", "attributes": "colour=red"}, ResponseCode.SYSTEM_ERROR, "attribute"),
        ({"topic": "T", "readQueueNums": "many"}, ResponseCode.SYSTEM_ERROR, "readQueueNums"),
    ],
)
@in_loop
async def test_topic_that_cannot_be_is_refused(
    tmp_path: Path, fields: dict[str, object], code: int, says: str
) -> None:
    async with running(tmp_path) as (_, broker, talker):
        before = broker.topics.version
        refused = await make_topic(talker, **fields)  # type: ignore[arg-type]
        assert refused.code == code
        assert says in (refused.remark or "")
        assert broker.topics.version == before


@in_loop
async def test_several_topics_are_made_together_or_not_at_all(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        good = {"topicConfigList": [{"topicName": "A", "attributes": {"+message.type": "FIFO"}}]}
        assert (await talker.ask(Code.UPDATE_AND_CREATE_TOPIC_LIST, body=fastjson.dumps(good))).code == OK
        topic = broker.topics.get("A")
        assert topic is not None
        assert topic.attributes == {"message.type": "FIFO"}
        for other in ({"topicName": "no good"}, {"topicName": "C", "topicSysFlag": 3 * 10**9}):
            bad = {"topicConfigList": [{"topicName": "B"}, other]}
            refused = await talker.ask(Code.UPDATE_AND_CREATE_TOPIC_LIST, body=fastjson.dumps(bad))
            assert refused.code == ResponseCode.INVALID_PARAMETER
            assert "B" not in broker.topics


@in_loop
async def test_deleted_topic_takes_queues_and_offsets_along(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T")
        await talker.pull("T")
        commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 1}
        await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)
        await make_topic(talker, "%RETRY%G_T")
        assert (await talker.ask(Code.DELETE_TOPIC_IN_BROKER, {"topic": "T"})).code == OK
        assert "T" not in broker.topics
        assert "%RETRY%G_T" not in broker.topics
        assert broker.offsets.get("G", "T", 0) is None
        assert b"T@G" not in (broker.config_folder / "consumerOffset.json").read_bytes()
        assert "T" not in broker.store.topics()
        assert (await talker.pull("T")).code == ResponseCode.TOPIC_NOT_EXIST
        system = await talker.ask(Code.DELETE_TOPIC_IN_BROKER, {"topic": "SELF_TEST_TOPIC"})
        assert system.code == ResponseCode.INVALID_PARAMETER
        assert (await talker.send("T", b"anew")).fields["queueOffset"] == "0"


@in_loop
async def test_status_of_a_topic_has_the_ends_of_its_queues(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", queue_id=1)
        await talker.send("T", queue_id=1)

        async def counted() -> bool:
            return broker.store.max_offset("T", 1) == 2

        await eventually(counted)
        found = await talker.ask(Code.GET_TOPIC_STATS_INFO, {"topic": "T"})
        table = TopicStatsTable.from_json(found.body).offset_table
        by_queue = {queue.queue_id: offsets for queue, offsets in table.items()}
        assert [by_queue[n].max_offset for n in range(4)] == [0, 2, 0, 0]
        assert by_queue[1].last_update_timestamp > 0
        assert by_queue[0].last_update_timestamp == 0


@in_loop
async def test_topics_are_listed_whole_and_in_pages(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        whole = await talker.ask(Code.GET_ALL_TOPIC_CONFIG)
        names = list(TopicConfigSerializeWrapper.from_json(whole.body).topic_config_table)
        assert sorted(names) == sorted(t.topic_name or "" for t in broker.topics.all())
        page = await talker.ask(Code.GET_ALL_TOPIC_CONFIG, {"topicSeq": 2, "maxTopicNum": 3})
        assert list(TopicConfigSerializeWrapper.from_json(page.body).topic_config_table) == names[2:5]
        assert page.fields["totalTopicNum"] == str(len(names))
        system = await talker.ask(Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        assert "TBW102" in TopicList.from_json(system.body).topic_list


@in_loop
async def test_topics_of_rocketmqs_own_are_its_own_where_they_are_not_there_too(tmp_path: Path) -> None:
    own = ("TBW102", "RMQ_SYS_TRACE_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "CHECKPOINT_TOPIC")
    async with running(tmp_path, autoCreateTopicEnable=False, traceTopicEnable=False) as (_, broker, talker):
        system = await talker.ask(Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        assert set(own) <= set(TopicList.from_json(system.body).topic_list)
        for name in own:
            deleted = await talker.ask(Code.DELETE_TOPIC_IN_BROKER, {"topic": name})
            for refused in (await make_topic(talker, name), deleted):
                assert refused.code == ResponseCode.INVALID_PARAMETER
                assert "system topic" in (refused.remark or "")
            assert name not in broker.topics


@in_loop
async def test_trace_topic_is_made_by_its_first_message_and_read(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        assert (await talker.send("RMQ_SYS_TRACE_TOPIC", b"trace")).code == OK
        assert [message.body for message in await talker.read("RMQ_SYS_TRACE_TOPIC", 1)] == [b"trace"]


@in_loop
async def test_readers_of_a_topic_are_those_online_and_those_with_offsets(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T")
        await talker.beat("Online", topics={"T": "*"})
        await talker.pull("T", "Committed")
        commit = {"consumerGroup": "Committed", "topic": "T", "queueId": 0, "commitOffset": 1}
        await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)
        found = await talker.ask(Code.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "T"})
        assert GroupList.from_json(found.body).group_list == ["Committed", "Online"]
        topics = await talker.ask(Code.QUERY_TOPICS_BY_CONSUMER, {"group": "Committed"})
        assert TopicList.from_json(topics.body).topic_list == ["T"]


@in_loop
async def test_queues_of_forgotten_topics_are_cleaned(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        broker.store.append("Forgotten", b"x")
        await talker.send("Known")
        assert (await talker.ask(Code.CLEAN_UNUSED_TOPIC)).code == OK
        assert "Forgotten" not in broker.store.topics()


@pytest.mark.parametrize("code", [Code.CLEAN_UNUSED_TOPIC, Code.DELETE_TOPIC_IN_BROKER])
@in_loop
async def test_others_are_served_while_queues_are_removed_and_their_topic_is_not_made_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: Code
) -> None:
    removing, goes_on = threading.Event(), threading.Event()
    at_once = Store.delete_topic

    def slowly(store: Store, topic: str) -> bool:
        removing.set()
        assert goes_on.wait(5)
        return at_once(store, topic)

    monkeypatch.setattr(Store, "delete_topic", slowly)
    async with running(tmp_path) as (_, broker, talker):
        broker.store.append("Former", b"x")
        asked = asyncio.create_task(talker.ask(code, {"topic": "Former"}))
        await until(removing.is_set, "the removal")
        assert (await talker.send("Other")).code == OK
        assert (await talker.send("Former")).code == ResponseCode.SYSTEM_BUSY
        goes_on.set()
        assert (await asked).code == OK
        assert (await talker.send("Former", b"new")).code == OK
        assert [message.body for message in await talker.read("Former", 1)] == [b"new"]


@in_loop
async def test_group_is_made_changed_listed_and_deleted(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        body = SubscriptionGroupConfig(group_name="G", retry_max_times=3).to_json()
        assert (await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)).code == OK
        found = await talker.ask(Code.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "G"})
        assert SubscriptionGroupConfig.from_json(found.body).retry_max_times == 3
        everything = await talker.ask(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        table = SubscriptionGroupWrapper.from_json(everything.body).subscription_group_table
        assert {"G", "TOOLS_CONSUMER"} <= table.keys()
        kept = left_by_a_kill(broker.config_folder, tmp_path)[1].get("G")
        assert kept is not None
        assert kept.retry_max_times == 3
        await talker.send("T")
        commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 1}
        await talker.ask(Code.UPDATE_CONSUMER_OFFSET, commit)
        gone = {"groupName": "G", "cleanOffset": "true"}
        assert (await talker.ask(Code.DELETE_SUBSCRIPTIONGROUP, gone)).code == OK
        assert "G" not in broker.groups
        assert broker.offsets.get("G", "T", 0) is None
        assert b"T@G" not in (broker.config_folder / "consumerOffset.json").read_bytes()
        missing = await talker.ask(Code.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "G"})
        assert missing.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
        bad = await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"a b"}')
        assert bad.code == ResponseCode.INVALID_PARAMETER


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("groupSysFlag", 3 * 10**9),
        ("groupSysFlag", -3 * 10**9),
        ("retryMaxTimes", 3 * 10**9),
        ("consumeTimeoutMinute", 3 * 10**9),
        ("retryQueueNums", 2 * 10**9),
        ("retryQueueNums", -1),
    ],
)
@in_loop
async def test_group_with_a_number_that_cannot_be_is_refused(tmp_path: Path, key: str, value: int) -> None:
    async with running(tmp_path) as (_, broker, talker):
        bad = {"groupName": "G", key: value}
        one = await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=fastjson.dumps(bad))
        several = {"groupConfigList": [{"groupName": "H"}, bad]}
        code = Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
        for refused in (one, await talker.ask(code, body=fastjson.dumps(several))):
            assert refused.code == ResponseCode.INVALID_PARAMETER
            assert f"{key} of group G must be from " in (refused.remark or "")
        assert "G" not in broker.groups
        assert "H" not in broker.groups


@in_loop
async def test_group_that_is_forbidden_to_read_stays_so_after_a_kill(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        body = SubscriptionGroupConfig(group_name="G").to_json()
        assert (await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)).code == OK
        for readable in (False, True, False):
            asked = {"group": "G", "topic": "T", "readable": str(readable).lower()}
            assert (await talker.ask(Code.UPDATE_AND_GET_GROUP_FORBIDDEN, asked)).code == OK
            kept = left_by_a_kill(broker.config_folder, tmp_path)[1]
            assert kept.may_read("G", "T") is readable
