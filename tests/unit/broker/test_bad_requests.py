"""Requests that make no sense: each gets an error that says so, and the others are served as before."""

from pathlib import Path

from tailfin.wire.codes import Code
from tests.unit.broker.talking import OK, running
from tests.unit.loops import in_loop

SENSELESS: list[tuple[Code, dict[str, object], bytes]] = [
    (Code.CONSUMER_SEND_MSG_BACK, {}, b""),
    (Code.CONSUMER_SEND_MSG_BACK, {"offset": -1, "group": "G", "delayLevel": 0}, b""),
    (Code.CONSUMER_SEND_MSG_BACK, {"offset": 1 << 62, "group": "G", "delayLevel": 0}, b""),
    (Code.CONSUMER_SEND_MSG_BACK, {"offset": "x", "group": "G", "delayLevel": 0}, b""),
    (Code.CONSUMER_SEND_MSG_BACK, {"offset": 0, "group": "a b", "delayLevel": 0}, b""),
    (Code.SEND_REPLY_MESSAGE, {}, b"x"),
    (Code.SEND_REPLY_MESSAGE_V2, {"a": "P", "b": "T"}, b"x"),
    (Code.SEND_REPLY_MESSAGE_V2, dict.fromkeys("abcdefgh", 1), b""),
    (Code.QUERY_MESSAGE, {"topic": "T"}, b""),
    (
        Code.QUERY_MESSAGE,
        dict.fromkeys(("topic", "key", "maxNum", "beginTimestamp", "endTimestamp"), -1),
        b"",
    ),
    (Code.VIEW_MESSAGE_BY_ID, {"offset": "nowhere"}, b""),
    (Code.LOCK_BATCH_MQ, {}, b"no json"),
    (Code.LOCK_BATCH_MQ, {}, b"{}"),
    (Code.UNLOCK_BATCH_MQ, {}, b"[]"),
    (Code.CONSUME_MESSAGE_DIRECTLY, {"consumerGroup": "G", "clientId": "c", "msgId": "short"}, b""),
    (Code.CONSUME_MESSAGE_DIRECTLY, {"consumerGroup": "G", "clientId": "c", "msgId": "0" * 32}, b""),
    (Code.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G", "clientId": "nobody"}, b""),
    (Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "T", "group": "nobody", "timestamp": 0}, b""),
    (Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "Nowhere", "group": "G", "timestamp": 0}, b""),
    (Code.CLONE_GROUP_OFFSET, {"srcGroup": "G"}, b""),
    (Code.QUERY_TOPIC_CONSUME_BY_WHO, {}, b""),
    (
        Code.CHECK_CLIENT_CONFIG,
        {},
        rb'{"subscriptionData":{"topic":"T","subString":"a","expressionType":"\ud800"}}',
    ),
    (
        Code.HEART_BEAT,
        {},
        rb'{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{"topic":"\ud800"}]}]}',
    ),
]


@in_loop
async def test_senseless_requests_are_refused_with_a_sentence(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        assert (await talker.send("T", b"before")).code == OK
        end = broker.store.max_physical_offset
        for code, fields, body in SENSELESS:
            answer = await talker.ask(code, fields, body)
            assert answer.code != OK, (code.name, fields, body)
            assert answer.remark, (code.name, fields, body)
        assert broker.store.max_physical_offset == end, "nothing was stored"
        assert (await talker.send("T", b"after")).code == OK
        assert [message.body for message in await talker.read("T", 2)] == [b"before", b"after"]
