"""Messages handed back by a consumer: again after a while, and in the end a dead letter."""

from dataclasses import replace
from pathlib import Path

import pytest

from tailfin.config import StoreConfig
from tailfin.wire.bodies.clients import LockBatchRequestBody
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import Perm, TopicConfig
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK, eventually, left_by_a_kill, running
from tests.unit.loops import in_loop

FAST = {"messageDelayLevel": "1s 1s 1s 1s"}


@pytest.mark.shows("RT-08", "RT-07", "RP-04")
@in_loop
async def test_message_handed_back_comes_again_from_the_retry_topic(tmp_path: Path) -> None:
    async with running(tmp_path, **FAST) as (_, broker, talker):
        sent = await talker.send("T", b"hard", properties={"UNIQ_KEY": "u", "TAGS": "a"})
        back = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T", "maxReconsumeTimes": 16}
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK

        async def again() -> bool:
            return broker.store.max_offset("%RETRY%G", 0) == 1

        await eventually(again)
        (message,) = await talker.read("%RETRY%G", 1)
        assert (message.body, message.reconsume_times, message.unique_key) == (b"hard", 1, "u")
        assert message.get_property("RETRY_TOPIC") == "T"
        assert message.get_property("ORIGIN_MESSAGE_ID") == sent.fields["msgId"]
        assert message.get_property("DELAY") == "3"


@pytest.mark.shows("DQ-01", "DQ-02")
@pytest.mark.parametrize("fields", [{"delayLevel": -1}, {"delayLevel": 0, "maxReconsumeTimes": 0}])
@in_loop
async def test_message_that_failed_too_often_is_a_dead_letter(tmp_path: Path, fields: dict[str, int]) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"hopeless")
        assert "%DLQ%G" not in broker.topics
        back = {"offset": 0, "group": "G", "originTopic": "T", **fields}
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK

        async def there() -> bool:
            return broker.store.max_offset("%DLQ%G", 0) == 1

        await eventually(there)
        dead = broker.topics.get("%DLQ%G")
        assert dead is not None
        assert (dead.read_queue_nums, dead.perm) == (1, 6)


@pytest.mark.shows("DQ-03", "X-06")
@in_loop
async def test_dead_letter_is_not_consumed_as_usual_and_kept_like_any_message(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"hopeless")
        await talker.beat("G", {"T": "*", "%RETRY%G": "*"})
        await talker.ask(Code.CONSUMER_SEND_MSG_BACK, {"offset": 0, "group": "G", "delayLevel": -1})
        (dead,) = await talker.read("%DLQ%G", 1)
        assert dead.body == b"hopeless"
        # Its members subscribe to no such topic, and get it from none of theirs.
        refused = await talker.pull("%DLQ%G", subscription=None, version=1)
        assert refused.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
        again = await talker.pull("%RETRY%G", subscription=None, version=1)
        assert again.code == ResponseCode.PULL_NOT_FOUND
        # It lies in the one log, whose files go after three days.
        assert dead.physical_offset < broker.store.max_physical_offset
        assert broker.settings.store.fileReservedTime == 72


@in_loop
async def test_handing_back_what_is_not_there_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, autoCreateSubscriptionGroup=False) as (_, _, talker):
        back = {"offset": 77, "group": "TOOLS_CONSUMER", "delayLevel": 0}
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == ResponseCode.SYSTEM_ERROR
        unknown = await talker.ask(Code.CONSUMER_SEND_MSG_BACK, {**back, "group": "G"})
        assert unknown.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


@pytest.mark.shows("SP-09")
@in_loop
async def test_send_to_the_retry_topic_beyond_the_limit_becomes_a_dead_letter(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        kept = await talker.send("%RETRY%G", b"once more", reconsume_times=1, max_reconsume_times=1)
        assert kept.code == OK
        dead = await talker.send("%RETRY%G", b"enough", reconsume_times=2, max_reconsume_times=1)
        assert dead.code == OK
        assert "%DLQ%G" in left_by_a_kill(broker.config_folder, tmp_path)[0]

        async def stored() -> bool:
            store = broker.store
            return store.max_offset("%RETRY%G", 0) == 1 and store.max_offset("%DLQ%G", 0) == 1

        await eventually(stored)


@pytest.mark.shows("RT-01", "RT-02", "RT-05")
@pytest.mark.parametrize(
    ("failed", "limit", "level"),
    [*((times, None, 3 + times) for times in (0, 1, 7, 15)), (16, None, None), (16, 30, 18), (29, 30, 18)],
)
@in_loop
async def test_every_failure_waits_longer_until_there_were_too_many(
    tmp_path: Path, failed: int, limit: int | None, level: int | None
) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"hard", reconsume_times=failed)
        back = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T"}
        if limit is not None:
            back["maxReconsumeTimes"] = limit
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK
        topic, queue_id = ("%DLQ%G", 0) if level is None else ("SCHEDULE_TOPIC_XXXX", level - 1)

        async def stored() -> bool:
            return broker.store.max_offset(topic, queue_id) == 1

        await eventually(stored)
        (message,) = broker.store.read(topic, queue_id, 0)
        assert message.reconsume_times == failed + 1


@pytest.mark.shows("RT-07", "ID-02")
@in_loop
async def test_message_keeps_its_first_id_and_its_unique_key_over_every_retry(tmp_path: Path) -> None:
    async with running(tmp_path, **FAST) as (_, _, talker):
        sent = await talker.send("T", b"hard", properties={"UNIQ_KEY": "u"})
        offset, topic = 0, "T"
        for times in range(1, 4):
            back = {"offset": offset, "group": "G", "delayLevel": 0, "originTopic": topic}
            assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK
            *_, message = await talker.read("%RETRY%G", times)
            offset = message.physical_offset
            assert (message.reconsume_times, message.unique_key) == (times, "u")
            assert message.get_property("ORIGIN_MESSAGE_ID") == sent.fields["msgId"]
            assert message.get_property("RETRY_TOPIC") == "T"


@pytest.mark.shows("RT-01", "RT-06")
@pytest.mark.parametrize(("asked", "dead"), [(None, True), (5, False), (0, True)])
@in_loop
async def test_group_s_limit_holds_unless_the_request_has_its_own(
    tmp_path: Path, asked: int | None, dead: bool
) -> None:
    async with running(tmp_path) as (_, broker, talker):
        broker.groups.put([SubscriptionGroupConfig(group_name="G", retry_max_times=2)])
        await talker.send("T", b"hard", reconsume_times=2)
        back: dict[str, object] = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T"}
        if asked is not None:
            back["maxReconsumeTimes"] = asked
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK
        topic, queue_id = ("%DLQ%G", 0) if dead else ("SCHEDULE_TOPIC_XXXX", 4)

        async def stored() -> bool:
            return broker.store.max_offset(topic, queue_id) == 1

        await eventually(stored)
        counters = broker.counting.counters()
        assert counters["SNDBCK_PUT_NUMS"] == {"T@G": 1}
        assert ("SNDBCK2DLQ_TIMES" in counters) is dead


@in_loop
async def test_retry_topic_grows_with_its_group_and_no_retry_goes_where_nobody_reads(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.beat(topics={"T": "*"})
        group = SubscriptionGroupConfig(group_name="G", retry_queue_nums=4)
        assert (await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group.to_json())).code == OK
        wide = broker.topics.get("%RETRY%G")
        assert wide is not None
        assert (wide.read_queue_nums, wide.write_queue_nums) == (4, 4)
        kept = left_by_a_kill(broker.config_folder, tmp_path)[0].get("%RETRY%G")
        assert kept == wide
        broker.topics.put([replace(wide, read_queue_nums=2)])
        await talker.send("T", b"hard")
        for _ in range(40):
            back = {"offset": 0, "group": "G", "delayLevel": 18, "originTopic": "T"}
            assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK
        waiting = await talker.read("SCHEDULE_TOPIC_XXXX", 32, queue_id=17)
        assert {message.get_property("REAL_QID") for message in waiting} == {"0", "1"}


@in_loop
async def test_group_that_wants_no_retries_gets_none(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        broker.groups.put([SubscriptionGroupConfig(group_name="G", retry_queue_nums=0)])
        await talker.send("T", b"hard")
        end = broker.store.max_physical_offset
        back = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T"}
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK
        assert broker.store.max_physical_offset == end
        assert "%RETRY%G" not in broker.topics


@in_loop
async def test_handing_back_is_refused_where_nothing_may_be_written(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"hard")
        back = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T"}
        broker.topics.put([TopicConfig(topic_name="%RETRY%G", perm=int(Perm.READ))])
        refused = await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)
        assert refused.code == ResponseCode.NO_PERMISSION
        assert refused.remark == "the topic[%RETRY%G] sending message is forbidden"


@pytest.mark.shows("OR-05")
@in_loop
async def test_retry_of_a_group_that_consumes_in_order_is_a_dead_letter(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        queue = MessageQueue(topic="T", broker_name="broker-a", queue_id=0)
        lock = LockBatchRequestBody(consumer_group="G", client_id="c1", mq_set=[queue])
        assert (await talker.ask(Code.LOCK_BATCH_MQ, body=lock.to_json())).code == OK
        assert (await talker.send("%RETRY%G", b"first failure", reconsume_times=1)).code == OK
        (dead,) = await talker.read("%DLQ%G", 1)
        assert (dead.body, dead.get_property("DELAY"), dead.reconsume_times) == (b"first failure", "-1", 1)
        assert broker.store.max_offset("%RETRY%G", 0) == 0
        assert (await talker.ask(Code.UNLOCK_BATCH_MQ, body=lock.to_json())).code == OK
        assert (await talker.send("%RETRY%G", b"not in order", reconsume_times=1)).code == OK
        (kept,) = await talker.read("%RETRY%G", 1)
        assert kept.body == b"not in order"


@pytest.mark.shows("RT-02", "RT-03", "N-10")
def test_sixteen_retries_take_four_hours_and_three_quarters() -> None:
    minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120]
    retries = StoreConfig().delays_ms()[2:18]
    assert retries == [10_000, 30_000, *(minute * 60_000 for minute in minutes)]
    assert sum(retries) == (4 * 3600 + 45 * 60 + 40) * 1000


@pytest.mark.shows("DL-03")
@in_loop
async def test_delayed_message_waits_under_the_schedule_topic_and_knows_its_own(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T", b"later", queue_id=2, properties={"DELAY": "5"})

        async def stored() -> bool:
            return broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 4) == 1

        await eventually(stored)
        (message,) = broker.store.read("SCHEDULE_TOPIC_XXXX", 4, 0)
        assert (message.get_property("REAL_TOPIC"), message.get_property("REAL_QID")) == ("T", "2")
