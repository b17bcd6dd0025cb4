"""Messages handed back by a consumer: again after a while, and in the end a dead letter."""

from pathlib import Path

import pytest

from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK, eventually, messages, running
from tests.unit.loops import in_loop

FAST = {"messageDelayLevel": "1s 1s 1s 1s"}


@pytest.mark.shows("RT-08", "RT-07")
@in_loop
async def test_message_handed_back_comes_again_from_the_retry_topic(tmp_path: Path) -> None:
    async with running(tmp_path, **FAST) as (_, broker, talker):
        sent = await talker.send("T", b"hard", properties={"UNIQ_KEY": "u", "TAGS": "a"})
        back = {"offset": 0, "group": "G", "delayLevel": 0, "originTopic": "T", "maxReconsumeTimes": 16}
        assert (await talker.ask(Code.CONSUMER_SEND_MSG_BACK, back)).code == OK

        async def again() -> bool:
            return broker.store.max_offset("%RETRY%G", 0) == 1

        await eventually(again)
        (message,) = messages((await talker.pull("%RETRY%G")).body)
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

        async def stored() -> bool:
            store = broker.store
            return store.max_offset("%RETRY%G", 0) == 1 and store.max_offset("%DLQ%G", 0) == 1

        await eventually(stored)
