"""Subscription groups: made, changed, listed, deleted."""

import logging
from typing import TYPE_CHECKING

from tailfin.broker import limits, names
from tailfin.broker.groups import name_of
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.common import TopicList
from tailfin.wire.bodies.groups import (
    GroupForbidden,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from tailfin.wire.bodies.stats import QuerySubscriptionResponseBody
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.topics import (
    DeleteSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
    GetSubscriptionGroupConfigRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicsByConsumerRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")


class GroupAdmin:
    """Handlers about subscription groups."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
    async def update(self, request: Request) -> Response:
        """Make or change one group."""
        group = SubscriptionGroupConfig.from_json(request.body)
        self._check(group)
        await self._put([group])
        log.info("subscription group %s made or changed by %s", group.group_name, request.peer)
        return Response()

    @handles(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST)
    async def update_list(self, request: Request) -> Response:
        """Make or change several groups, all of them or none."""
        groups = SubscriptionGroupList.from_json(request.body).group_config_list
        for group in groups:
            self._check(group)
        await self._put(groups)
        return Response()

    def _check(self, group: SubscriptionGroupConfig) -> None:
        if trouble := names.group_trouble(group.group_name or "") or limits.group_trouble(group):
            raise RemotingError(ResponseCode.INVALID_PARAMETER, trouble)

    async def _put(self, groups: list[SubscriptionGroupConfig]) -> None:
        broker = self._broker
        broker.groups.put(groups)
        # A retry topic that is there already was made for the settings before.
        widened = [
            broker.topics.widen(names.retry_topic(name_of(group)), group.retry_queue_nums) for group in groups
        ]
        await broker.groups_settled()
        if any(widened):
            await broker.topics_settled()

    @handles(Code.DELETE_SUBSCRIPTIONGROUP)
    async def delete(self, request: Request) -> Response:
        """Delete a group, with its offsets if asked."""
        header = DeleteSubscriptionGroupRequestHeader.decode(request.fields)
        self._broker.groups.delete(header.group_name)
        if header.clean_offset:
            self._broker.offsets.drop(group=header.group_name)
            await self._broker.offsets.persist_if_changed()
        await self._broker.groups_settled()
        self._broker.counting.forget(group=header.group_name)
        log.info("subscription group %s deleted by %s", header.group_name, request.peer)
        return Response()

    @handles(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    def all(self, request: Request) -> Response:
        """List all groups with their settings, in one answer or in pages."""
        header = GetAllSubscriptionGroupRequestHeader.decode(request.fields)
        whole = self._broker.groups.snapshot()
        table = dict(sorted(whole.subscription_group_table.items()))
        total = len(table)
        if header.group_seq is not None and header.max_group_num:
            first = max(header.group_seq, 0)
            table = dict(list(table.items())[first : first + header.max_group_num])
        body = SubscriptionGroupWrapper(
            subscription_group_table=table,
            forbidden_table=whole.forbidden_table,
            data_version=whole.data_version,
        )
        answer = GetAllSubscriptionGroupResponseHeader(total_group_num=total)
        return Response(fields=answer.encode(), body=body.to_json())

    @handles(Code.GET_SUBSCRIPTIONGROUP_CONFIG)
    def config(self, request: Request) -> Response:
        """Return one group's settings."""
        name = GetSubscriptionGroupConfigRequestHeader.decode(request.fields).group
        group = self._broker.groups.get(name)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name}{FAQ}"
            )
        return Response(body=group.to_json())

    @handles(Code.UPDATE_AND_GET_GROUP_FORBIDDEN)
    async def forbid(self, request: Request) -> Response:
        """Allow or forbid a group to read a topic; without a word on it, tell how it is."""
        header = UpdateGroupForbiddenRequestHeader.decode(request.fields)
        if header.readable is not None:
            self._broker.groups.set_readable(header.group, header.topic, header.readable)
            self._broker.retell_subscription(header.group, header.topic)
            await self._broker.groups_settled()
        readable = self._broker.groups.may_read(header.group, header.topic)
        body = GroupForbidden(group=header.group, topic=header.topic, readable=readable)
        return Response(body=body.to_json())

    @handles(Code.QUERY_TOPICS_BY_CONSUMER)
    def topics_of(self, request: Request) -> Response:
        """List the topics on which a group has offsets."""
        name = QueryTopicsByConsumerRequestHeader.decode(request.fields).group
        body = TopicList(topic_list=self._broker.offsets.topics_of(name), broker_addr=self._broker.address)
        return Response(body=body.to_json())

    @handles(Code.QUERY_SUBSCRIPTION_BY_CONSUMER)
    def subscription_of(self, request: Request) -> Response:
        """Tell what a group's members read of a topic."""
        header = QuerySubscriptionByConsumerRequestHeader.decode(request.fields)
        group = self._broker.clients.consumer_group(header.group)
        found = group.subscriptions.get(header.topic or "") if group else None
        body = QuerySubscriptionResponseBody(group=header.group, topic=header.topic, subscription_data=found)
        return Response(body=body.to_json())
