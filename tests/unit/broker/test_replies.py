"""Requests and replies: a reply finds the producer that asked, and is kept."""

from pathlib import Path

import pytest

from tailfin.broker.storing import parse_properties
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tailfin.wire.headers.send import ReplyMessageRequestHeader, SendMessageRequestHeader
from tests.unit.broker.talking import OK, Talker, eventually, running, text_of
from tests.unit.loops import in_loop

TOPIC = "DefaultCluster_REPLY_TOPIC"
MARKS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


async def reply(talker: Talker, properties: dict[str, str], *, short: bool = True) -> Frame:
    header = SendMessageRequestHeader(
        producer_group="R",
        topic=TOPIC,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1_700_000_000_000,
        flag=7,
        properties=text_of(properties),
    )
    code = Code.SEND_REPLY_MESSAGE_V2 if short else Code.SEND_REPLY_MESSAGE
    return await talker.ask(code, header.encode(short=short), b"forty-two")


@pytest.mark.parametrize("short", [True, False])
@in_loop
async def test_reply_goes_to_the_producer_that_asked_and_into_the_reply_topic(
    tmp_path: Path, short: bool
) -> None:
    async with running(tmp_path) as (_, _, talker):
        asker = Talker(talker.address, "asker@1")
        asker.answers[Code.PUSH_REPLY_MESSAGE_TO_CLIENT] = Frame(code=OK)
        await asker.beat(producer="A")
        given = {"REPLY_TO_CLIENT": "asker@1", "CORRELATION_ID": "c-1", "MSG_TYPE": "reply"}
        answer = await reply(talker, given, short=short)
        assert (answer.code, answer.remark) == (OK, None)
        (pushed,) = asker.heard
        header = ReplyMessageRequestHeader.decode(pushed.fields)
        properties = parse_properties(header.properties)
        assert int(properties.pop("PUSH_REPLY_TIME")) == header.store_timestamp
        assert (pushed.body, properties) == (b"forty-two", {**given, **MARKS})
        assert (header.topic, header.producer_group, header.flag) == (TOPIC, "R", 7)
        assert header.store_host == talker.address
        (stored,) = await talker.read(TOPIC, 1)
        assert (stored.body, stored.flag, stored.properties) == (b"forty-two", 7, {**given, **MARKS})
        assert answer.fields["msgId"] == stored.message_id
        await asker.client.stop()


@in_loop
async def test_reply_that_nobody_waits_for_is_said_and_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        gone = Talker(talker.address, "gone@1")
        await gone.beat(producer="A")
        await gone.client.stop()

        async def is_gone() -> bool:
            return broker.clients.producer_by_id("gone@1") is None

        await eventually(is_gone)
        lost = await reply(talker, {"REPLY_TO_CLIENT": "gone@1"})
        assert lost.code == ResponseCode.SYSTEM_ERROR
        assert lost.remark == "push reply message fail, channel of <gone@1> not found."
        nowhere = await reply(talker, {})
        assert nowhere.code == ResponseCode.SYSTEM_ERROR
        assert "REPLY_TO_CLIENT" in (nowhere.remark or "")
        assert len(await talker.read(TOPIC, 2)) == 2


@in_loop
async def test_producer_that_refuses_its_reply_is_an_error_for_the_other_side(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        asker = Talker(talker.address, "asker@1")
        asker.answers[Code.PUSH_REPLY_MESSAGE_TO_CLIENT] = Frame(code=1, remark="too late")
        await asker.beat(producer="A")
        refused = await reply(talker, {"REPLY_TO_CLIENT": "asker@1"})
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert "too late" in (refused.remark or "")
        await asker.client.stop()


@in_loop
async def test_replies_that_are_not_to_be_kept_are_only_pushed(tmp_path: Path) -> None:
    async with running(tmp_path, storeReplyMessageEnable=False) as (_, broker, talker):
        asker = Talker(talker.address, "asker@1")
        asker.answers[Code.PUSH_REPLY_MESSAGE_TO_CLIENT] = Frame(code=OK)
        await asker.beat(producer="A")
        answer = await reply(talker, {"REPLY_TO_CLIENT": "asker@1"})
        assert (answer.code, answer.fields["msgId"], answer.fields["queueOffset"]) == (OK, "0", "0")
        assert broker.store.max_offset(TOPIC, 0) == 0
        await asker.client.stop()


@in_loop
async def test_reply_to_a_forbidden_topic_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        header = {"a": "R", "b": "SELF_TEST_TOPIC", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 0, "h": 0}
        refused = await talker.ask(Code.SEND_REPLY_MESSAGE_V2, header, b"x")
        assert refused.code == ResponseCode.NO_PERMISSION
