"""Clients as they come and go: heartbeats, goodbyes, who is in a group, locks on queues."""

import logging
import time
from typing import TYPE_CHECKING

from tailfin.broker import filters, names
from tailfin.broker.clients import Client, ConsumerGroup, Joining
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.clients import (
    CheckClientRequestBody,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageModel,
)
from tailfin.wire.bodies.topics import TopicSysFlag
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.clients import (
    GetConsumerListByGroupRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    UnregisterClientRequestHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

NOTICE_EVERY_S = 15.0


class Membership:
    """Handlers of what clients say about themselves."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._to_notify: dict[str, float] = {}
        broker.clients.on_members = self._members_changed

    @handles(Code.HEART_BEAT)
    def heart_beat(self, request: Request) -> Response:
        """Note a client, its groups and what they subscribe to; a filter that is not served is refused."""
        beat = HeartbeatData.from_json(request.body)
        if not beat.client_id:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the heartbeat has no clientID")
        resend = beat.heartbeat_fingerprint == 0
        for data in beat.consumer_data_set:
            if beat.heartbeat_fingerprint and self._broker.clients.needs_subscriptions(
                data.group_name, request.connection, beat.heartbeat_fingerprint
            ):
                resend = resend or beat.without_sub
            self._consumer(beat, data, request)
        if self._broker.config.enableRegisterProducer:
            for producer in beat.producer_data_set:
                if producer.group_name:
                    self._broker.clients.beat_producer(producer.group_name, _client(beat, request))
        for data in beat.consumer_data_set:
            self._check_filters(data)
        marks = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true" if resend else "false"}
        return Response(fields=marks)

    def _consumer(self, beat: HeartbeatData, data: ConsumerData, request: Request) -> None:
        broker = self._broker
        config = broker.groups.find(data.group_name)
        if config is None:
            log.warning(
                "client %s at %s is in group %s, which does not exist and may not be created: its pulls will "
                "be refused (create the group, or set autoCreateSubscriptionGroup=true)",
                beat.client_id,
                request.peer,
                data.group_name,
            )
            return
        topics = (broker.topics.get(each.topic or "") for each in data.subscription_data_set)
        broker.topics.create_for_group(
            names.retry_topic(data.group_name),
            config.retry_queue_nums,
            order=any(topic and topic.order for topic in topics),
            sys_flag=int(TopicSysFlag.UNIT_SUB) if data.unit_mode else 0,
        )
        without = beat.without_sub and beat.heartbeat_fingerprint != 0
        broker.clients.beat_consumer(
            Joining(
                group=data.group_name,
                consume_type=data.consume_type or ConsumeType.CONSUME_PASSIVELY,
                message_model=data.message_model or MessageModel.CLUSTERING,
                consume_from_where=data.consume_from_where or ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
                subscriptions=None if without else tuple(data.subscription_data_set),
                fingerprint=beat.heartbeat_fingerprint,
            ),
            _client(beat, request),
        )

    def _check_filters(self, data: ConsumerData) -> None:
        for each in data.subscription_data_set:
            try:
                filters.check(self._broker.config, each.expression_type, each.sub_string)
            except RemotingError as error:
                remark = f"group {data.group_name}, topic {each.topic}: {error.remark}"
                raise RemotingError(error.code, remark) from None

    @handles(Code.UNREGISTER_CLIENT)
    def unregister(self, request: Request) -> Response:
        """Take a client out of its groups."""
        header = UnregisterClientRequestHeader.decode(request.fields)
        self._broker.clients.leave(
            header.client_id,
            request.connection,
            producer=header.producer_group,
            consumer=header.consumer_group,
        )
        return Response()

    @handles(Code.CHECK_CLIENT_CONFIG)
    def check_client(self, request: Request) -> Response:
        """Try a subscription."""
        body = CheckClientRequestBody.from_json(request.body)
        if wanted := body.subscription_data:
            filters.check(self._broker.config, wanted.expression_type, wanted.sub_string)
        return Response()

    @handles(Code.GET_CONSUMER_LIST_BY_GROUP)
    def consumer_list(self, request: Request) -> Response:
        """List the members of a group."""
        header = GetConsumerListByGroupRequestHeader.decode(request.fields)
        group = self._broker.clients.consumer_group(header.consumer_group)
        if group is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {header.consumer_group}"
            )
        return Response(
            body=GetConsumerListByGroupResponseBody(consumer_id_list=group.client_ids()).to_json()
        )

    @handles(Code.LOCK_BATCH_MQ)
    def lock(self, request: Request) -> Response:
        """Lock queues for a member that consumes in order."""
        body = LockBatchRequestBody.from_json(request.body)
        if not body.consumer_group or not body.client_id:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "a lock needs consumerGroup and clientId")
        held = self._broker.locks.lock(body.consumer_group, body.client_id, body.mq_set)
        return Response(body=LockBatchResponseBody(lock_ok_mq_set=held).to_json())

    @handles(Code.UNLOCK_BATCH_MQ)
    def unlock(self, request: Request) -> Response:
        """Give up locks."""
        body = LockBatchRequestBody.from_json(request.body)
        self._broker.locks.unlock(body.consumer_group or "", body.client_id or "", body.mq_set)
        return Response()

    def scan(self) -> None:
        """Drop clients that have been silent too long, send notices that were put off."""
        for connection in self._broker.clients.expired():
            log.warning("connection %d has been silent too long and is closed", connection)
            self._broker.server.disconnect(connection)
            self._broker.clients.closed(connection)
        self._broker.locks.forget()
        due = time.monotonic() - NOTICE_EVERY_S
        for name in [name for name, since in self._to_notify.items() if since <= due]:
            del self._to_notify[name]
            if group := self._broker.clients.consumer_group(name):
                self._notify(group)

    def _members_changed(self, group: ConsumerGroup) -> None:
        config = self._broker.groups.get(group.name)
        if (
            group.broadcast
            or not self._broker.config.notifyConsumerIdsChangedEnable
            or (config and not config.notify_consumer_ids_changed_enable)
        ):
            return
        if self._broker.config.realTimeNotifyConsumerChange:
            self._notify(group)
        else:
            self._to_notify.setdefault(group.name, time.monotonic())

    def _notify(self, group: ConsumerGroup) -> None:
        header = NotifyConsumerIdsChangedRequestHeader(consumer_group=group.name)
        for connection in group.members:
            self._broker.server.notify(connection, Code.NOTIFY_CONSUMER_IDS_CHANGED, header=header)


def _client(beat: HeartbeatData, request: Request) -> Client:
    return Client(
        connection=request.connection,
        client_id=beat.client_id or "",
        language=request.language,
        version=request.version,
        address=request.peer,
    )
