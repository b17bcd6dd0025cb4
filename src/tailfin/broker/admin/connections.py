"""Clients as operators see them, and requests passed on to one of them."""

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tailfin.broker.clients import Client
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.clients import GetConsumerStatusBody
from tailfin.wire.bodies.stats import (
    Connection,
    ConsumerConnection,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import Header
from tailfin.wire.headers.clients import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from tailfin.wire.version import name as version_name

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

ANSWER_WITHIN_S = 10.0
STATUS_WITHIN_S = 5.0
V3_1_8_SNAPSHOT = 62


class Connections:
    """Handlers about connected clients."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.GET_CONSUMER_CONNECTION_LIST)
    def consumers(self, request: Request) -> Response:
        """List the members of a consumer group and what they read."""
        name = GetConsumerConnectionListRequestHeader.decode(request.fields).consumer_group
        group = self._broker.clients.consumer_group(name)
        if group is None:
            raise RemotingError(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online")
        body = ConsumerConnection(
            connection_set=[_connection(member) for member in group.members.values()],
            subscription_table=group.subscriptions,
            consume_type=group.consume_type,
            message_model=group.message_model,
            consume_from_where=group.consume_from_where,
        )
        return Response(body=body.to_json())

    @handles(Code.GET_PRODUCER_CONNECTION_LIST)
    def producers(self, request: Request) -> Response:
        """List the members of a producer group."""
        name = GetProducerConnectionListRequestHeader.decode(request.fields).producer_group
        members = self._broker.clients.producers(name)
        if not members:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
        return Response(
            body=ProducerConnection(connection_set=[_connection(each) for each in members]).to_json()
        )

    @handles(Code.GET_ALL_PRODUCER_INFO)
    def all_producers(self, request: Request) -> Response:
        """List all producers."""
        now, monotonic = time.time(), time.monotonic()
        body = ProducerTableInfo(
            data={
                group: [
                    ProducerInfo(
                        client_id=each.client_id,
                        remote_ip=each.address,
                        language=each.language,
                        version=each.version,
                        last_update_timestamp=int((now - (monotonic - each.seen)) * 1000),
                    )
                    for each in members
                ]
                for group, members in self._broker.clients.producer_groups().items()
            }
        )
        return Response(body=body.to_json())

    @handles(Code.GET_CONSUMER_RUNNING_INFO)
    async def running_info(self, request: Request) -> Response:
        """Ask a consumer about itself."""
        header = GetConsumerRunningInfoRequestHeader.decode(request.fields)
        return await self._pass_on(request.code, header.consumer_group, header.client_id, header)

    @handles(Code.CONSUME_MESSAGE_DIRECTLY)
    async def consume_directly(self, request: Request) -> Response:
        """Let a consumer consume one stored message now."""
        header = ConsumeMessageDirectlyResultRequestHeader.decode(request.fields)
        try:
            message = self._broker.store.message_by_id(header.msg_id or "")
        except ValueError as error:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, f"msgId: {error}") from None
        if message is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"there is no message {header.msg_id} here")
        topic = self._broker.topics.get(message.topic)
        group = self._broker.groups.get(header.consumer_group)
        known = replace(
            header,
            broker_name=self._broker.config.brokerName,
            topic_sys_flag=topic.topic_sys_flag if topic else 0,
            group_sys_flag=group.group_sys_flag if group else 0,
        )
        return await self._pass_on(
            request.code, header.consumer_group, header.client_id or "", known, message.raw
        )

    async def _pass_on(
        self, code: int, group: str, client_id: str, header: Header, body: bytes = b""
    ) -> Response:
        found = self._broker.clients.consumer_group(group)
        member = found.find(client_id) if found else None
        if member is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online")
        if member.version < V3_1_8_SNAPSHOT:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"The Consumer <{client_id}> Version <{version_name(member.version)}> too low to finish, "
                "please upgrade it to V3_1_8_SNAPSHOT",
            )
        try:
            answer = await self._broker.server.call(
                member.connection, code, header=header, body=body, timeout=ANSWER_WITHIN_S
            )
        except RemotingError as error:
            if error.code != ResponseCode.RPC_TIME_OUT:
                raise RemotingError(ResponseCode.SYSTEM_ERROR, error.remark) from None
            raise RemotingError(
                ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{client_id}> Timeout: {error.remark}"
            ) from None
        return Response(answer.code or 0, answer.remark, fields=answer.fields, body=answer.body)

    @handles(Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS)
    async def consumer_status(self, request: Request) -> Response:
        """Ask the members of a group where they are."""
        header = GetConsumerStatusRequestHeader.decode(request.fields)
        group = self._broker.clients.consumer_group(header.group)
        if group is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{header.group}]"
            )
        wanted = [
            member
            for member in group.members.values()
            if not header.client_addr or header.client_addr == member.client_id
        ]
        answers = await asyncio.gather(
            *(
                self._broker.server.call(
                    member.connection,
                    Code.GET_CONSUMER_STATUS_FROM_CLIENT,
                    header=header,
                    timeout=STATUS_WITHIN_S,
                )
                for member in wanted
            ),
            return_exceptions=True,
        )
        table = {
            member.client_id: GetConsumerStatusBody.from_json(answer.body).message_queue_table
            for member, answer in zip(wanted, answers, strict=True)
            if not isinstance(answer, BaseException) and answer.code == ResponseCode.SUCCESS and answer.body
        }
        return Response(body=GetConsumerStatusBody(consumer_table=table).to_json())


def _connection(client: Client) -> Connection:
    return Connection(
        client_id=client.client_id,
        client_addr=client.address,
        language=client.language,
        version=client.version,
    )
