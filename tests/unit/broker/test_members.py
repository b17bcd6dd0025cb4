"""Clients over the wire: heartbeats, notices, locks, requests passed on to them."""

import asyncio
from pathlib import Path

import pytest

from tailfin.message import Message
from tailfin.wire import fastjson
from tailfin.wire.bodies.clients import LockBatchRequestBody, LockBatchResponseBody, MessageModel
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.bodies.stats import ConsumerConnection, ProducerConnection
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, Talker, eventually, running
from tests.unit.loops import in_loop, until


@in_loop
async def test_members_hear_of_each_other_and_of_one_that_goes(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, first):
        second = Talker(broker.address, "c2")
        beat = await first.beat(topics={"T": "*"})
        assert beat.code == OK
        assert beat.fields["IS_SUPPORT_HEART_BEAT_V2"] == "true"
        await second.beat(topics={"T": "*"})
        await until(lambda: len(first.heard) >= 2 and second.heard, "both are told")
        assert {frame.code for frame in first.heard} == {Code.NOTIFY_CONSUMER_IDS_CHANGED}
        assert first.heard[0].fields["consumerGroup"] == "G"
        listed = await first.ask(Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert fastjson.loads(listed.body)["consumerIdList"] == ["c1", "c2"]
        told = len(first.heard)
        await second.client.stop()
        await until(lambda: len(first.heard) > told, "the one who stays is told")
        listed = await first.ask(Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert fastjson.loads(listed.body)["consumerIdList"] == ["c1"]
        assert "%RETRY%G" in broker.topics


@in_loop
async def test_members_of_a_broadcast_group_hear_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, first):
        second = Talker(broker.address, "c2")
        await first.beat(topics={"T": "*"}, model=MessageModel.BROADCASTING)
        await second.beat(topics={"T": "*"}, model=MessageModel.BROADCASTING)
        await first.ask(Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert first.heard == second.heard == []
        await second.client.stop()


@in_loop
async def test_goodbye_takes_a_client_out_of_its_groups(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.beat(topics={"T": "*"}, producer="P")
        goodbye = {"clientID": "c1", "producerGroup": "P", "consumerGroup": "G"}
        assert (await talker.ask(Code.UNREGISTER_CLIENT, goodbye)).code == OK
        assert broker.clients.consumer_groups() == []
        assert broker.clients.producer_groups() == {}
        gone = await talker.ask(Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert gone.code == ResponseCode.SYSTEM_ERROR


@in_loop
async def test_group_that_may_not_be_made_stays_away(tmp_path: Path) -> None:
    async with running(tmp_path, autoCreateSubscriptionGroup=False) as (_, broker, talker):
        assert (await talker.beat(topics={"T": "*"})).code == OK
        assert broker.clients.consumer_groups() == []


@in_loop
async def test_connections_are_listed(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        offline = await talker.ask(Code.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "G"})
        assert offline.code == ResponseCode.CONSUMER_NOT_ONLINE
        none = await talker.ask(Code.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "P"})
        assert none.code == ResponseCode.SYSTEM_ERROR
        await talker.beat(topics={"T": "a||b"}, producer="P")
        found = await talker.ask(Code.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "G"})
        group = ConsumerConnection.from_json(found.body)
        assert [(c.client_id, c.language) for c in group.connection_set] == [("c1", "PYTHON")]
        assert group.subscription_table["T"].sub_string == "a||b"
        assert group.message_model is MessageModel.CLUSTERING
        found = await talker.ask(Code.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "P"})
        assert len(ProducerConnection.from_json(found.body).connection_set) == 1
        everyone = await talker.ask(Code.GET_ALL_PRODUCER_INFO)
        assert fastjson.loads(everyone.body)["data"]["P"][0]["clientId"] == "c1"


@pytest.mark.shows("OR-04")
@in_loop
async def test_queues_are_locked_for_one_member(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        queue = MessageQueue(topic="T", broker_name=broker.config.brokerName, queue_id=0)

        async def lock(client_id: str) -> list[MessageQueue]:
            body = LockBatchRequestBody(consumer_group="G", client_id=client_id, mq_set=[queue])
            answer = await talker.ask(Code.LOCK_BATCH_MQ, body=body.to_json())
            return LockBatchResponseBody.from_json(answer.body).lock_ok_mq_set

        assert await lock("a") == [queue]
        assert await lock("b") == []
        body = LockBatchRequestBody(consumer_group="G", client_id="a", mq_set=[queue])
        assert (await talker.ask(Code.UNLOCK_BATCH_MQ, body=body.to_json())).code == OK
        assert await lock("b") == [queue]


@in_loop
async def test_requests_are_passed_on_to_a_member(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, consumer):
        operator = Talker(broker.address, "op")
        sent = await operator.send("T", b"look at me")
        consumer.answers[Code.GET_CONSUMER_RUNNING_INFO] = Frame(code=0, opaque=0, body=b'{"jstack":"x"}')
        consumer.answers[Code.CONSUME_MESSAGE_DIRECTLY] = Frame(
            code=0, opaque=0, body=b'{"consumeResult":"CR_SUCCESS"}'
        )
        await consumer.beat(topics={"T": "*"})
        who = {"consumerGroup": "G", "clientId": "c1"}
        info = await operator.ask(Code.GET_CONSUMER_RUNNING_INFO, {**who, "jstackEnable": "true"})
        assert (info.code, info.body) == (OK, b'{"jstack":"x"}')
        asked = next(frame for frame in consumer.heard if frame.code == Code.GET_CONSUMER_RUNNING_INFO)
        assert asked.fields["jstackEnable"] == "true"
        done = await operator.ask(Code.CONSUME_MESSAGE_DIRECTLY, {**who, "msgId": sent.fields["msgId"]})
        assert done.body == b'{"consumeResult":"CR_SUCCESS"}'
        given = next(frame for frame in consumer.heard if frame.code == Code.CONSUME_MESSAGE_DIRECTLY)
        assert given.fields["brokerName"] == "broker-a"
        assert Message.decode(given.body).body == b"look at me"
        nobody = await operator.ask(Code.GET_CONSUMER_RUNNING_INFO, {**who, "clientId": "c9"})
        assert nobody.code == ResponseCode.SYSTEM_ERROR
        assert "not online" in (nobody.remark or "")
        malformed = await operator.ask(Code.CONSUME_MESSAGE_DIRECTLY, {**who, "msgId": "zz"})
        assert malformed.code == ResponseCode.INVALID_PARAMETER
        await operator.client.stop()


@in_loop
async def test_member_that_goes_while_it_is_asked_fails_the_request(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, operator):
        consumer = Talker(broker.address)
        await consumer.beat(topics={"T": "*"})
        asking = asyncio.create_task(
            operator.ask(Code.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G", "clientId": "c1"})
        )
        await until(
            lambda: any(f.code == Code.GET_CONSUMER_RUNNING_INFO for f in consumer.heard), "it was asked"
        )
        await consumer.client.stop()
        answer = await asking
        assert answer.code == ResponseCode.SYSTEM_ERROR


@in_loop
async def test_silent_client_is_dropped(tmp_path: Path) -> None:
    async with running(tmp_path, channelExpiredTimeout=1) as (_, broker, talker):
        await talker.beat(topics={"T": "*"})

        async def gone() -> bool:
            broker.membership.scan()
            return not broker.clients.consumer_groups()

        await eventually(gone)
