"""Clients as brokers see them: producers, consumers, what they subscribe to, what they do."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from tailfin.admin.errors import NotFound
from tailfin.admin.servers import Servers, each
from tailfin.wire import version
from tailfin.wire.bodies.clients import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData
from tailfin.wire.bodies.stats import (
    Connection,
    ConsumerConnection,
    ConsumerRunningInfo,
    ProducerConnection,
    ProducerTableInfo,
)
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.clients import (
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetProducerConnectionListRequestHeader,
)

ASKED_OF_A_CLIENT_S = 15.0
"""Brokers wait ten seconds for a client that they pass a request on to."""

_ONLINE_OR_NOT = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
_SOME_OR_NONE = (ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR)


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """A client.

    Attributes:
        client_id: its id: `<ip>@<instance>`.
        address: where it connects from.
        language: what it is written in.
        version: the release it speaks, as `V5_3_3`.
    """

    client_id: str
    address: str
    language: str
    version: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a group reads of a topic.

    Attributes:
        topic: the topic.
        expression: the tags, joined by `||`, `*` for all, or an SQL92 expression.
        kind: `TAG` or `SQL92`.
    """

    topic: str
    expression: str
    kind: str


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """The members of a consumer group that are connected.

    Attributes:
        group: its name.
        clients: the members, by client id.
        subscriptions: what they read, by topic.
        consume_type: pull, push or pop; None when nobody is there.
        message_model: whether they share messages or each get all.
        consume_from_where: where a member begins that has no offset.
    """

    group: str
    clients: tuple[ConnectedClient, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None

    @property
    def online(self) -> bool:
        """Whether anybody is there."""
        return bool(self.clients)


class Connections:
    """What an operator asks about clients: `AdminClient.connections`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def producers(self, group: str) -> tuple[ConnectedClient, ...]:
        """Return the members of a producer group, of all masters; none when nobody is there."""
        header = GetProducerConnectionListRequestHeader(producer_group=group)
        answers = await each(
            await self._servers.masters(),
            lambda address: self._servers.ask(
                address, Code.GET_PRODUCER_CONNECTION_LIST, header=header, accept=_SOME_OR_NONE
            ),
        )
        # A broker where the group has no member says so by an error.
        found = [answer.body for answer in answers.values() if answer.code == ResponseCode.SUCCESS]
        return _merged(each for body in found for each in ProducerConnection.from_json(body).connection_set)

    async def all_producers(self) -> dict[str, tuple[ConnectedClient, ...]]:
        """Return all producers by group; brokers before 4.9.3 cannot tell."""
        answers = await each(
            await self._servers.masters(),
            lambda address: self._servers.ask(address, Code.GET_ALL_PRODUCER_INFO),
        )
        groups: dict[str, list[Connection]] = {}
        for answer in answers.values():
            for group, members in ProducerTableInfo.from_json(answer.body).data.items():
                groups.setdefault(group, []).extend(
                    Connection(
                        client_id=member.client_id,
                        client_addr=member.remote_ip,
                        language=member.language,
                        version=member.version,
                    )
                    for member in members
                )
        return {group: _merged(members) for group, members in sorted(groups.items())}

    async def consumers(self, group: str) -> GroupMembers:
        """Return the members of a consumer group, of all masters; nobody when it is offline."""
        header = GetConsumerConnectionListRequestHeader(consumer_group=group)
        answers = await each(
            await self._servers.masters(),
            lambda address: self._servers.ask(
                address, Code.GET_CONSUMER_CONNECTION_LIST, header=header, accept=_ONLINE_OR_NOT
            ),
        )
        return members(
            group,
            [
                ConsumerConnection.from_json(answer.body)
                for answer in answers.values()
                if answer.code == ResponseCode.SUCCESS
            ],
        )

    async def subscriptions(self, group: str) -> tuple[Subscription, ...]:
        """Return what the members of a group read; nothing when it is offline."""
        return (await self.consumers(group)).subscriptions

    async def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """Ask a consumer about itself: its queues, how fast it works, its settings.

        Args:
            group: its group.
            client_id: its id, as `consumers` returns it.
            stacks: with what its threads do; takes longer.
        """
        header = GetConsumerRunningInfoRequestHeader(
            consumer_group=group, client_id=client_id, jstack_enable=stacks
        )
        trouble = ""
        for address in (await self._servers.masters()).values():
            try:
                answer = await self._servers.ask(
                    address, Code.GET_CONSUMER_RUNNING_INFO, header=header, timeout=ASKED_OF_A_CLIENT_S
                )
            except RemotingError as error:
                trouble = error.remark
            else:
                return ConsumerRunningInfo.from_json(answer.body)
        raise NotFound(
            f"client {client_id!r} of group {group!r} does not answer: {trouble}; "
            f"`tailfin group show {group}` lists the clients that are there"
        )

    async def running_infos(self, group: str) -> dict[str, ConsumerRunningInfo]:
        """Ask every member of a group about itself; return what they say by client id."""
        clients = [each.client_id for each in (await self.consumers(group)).clients]
        infos = await asyncio.gather(*(self.running_info(group, each) for each in clients))
        return dict(zip(clients, infos, strict=True))


def members(group: str, told: Iterable[ConsumerConnection]) -> GroupMembers:
    """Put together what several brokers tell of a group."""
    clients: list[Connection] = []
    subscriptions: dict[str, SubscriptionData] = {}
    last = ConsumerConnection()
    for last in told:
        clients += last.connection_set
        subscriptions.update(last.subscription_table)
    return GroupMembers(
        group=group,
        clients=_merged(clients),
        subscriptions=tuple(
            Subscription(topic, each.sub_string or "*", each.expression_type or "TAG")
            for topic, each in sorted(subscriptions.items())
        ),
        consume_type=last.consume_type,
        message_model=last.message_model,
        consume_from_where=last.consume_from_where,
    )


def _merged(connections: Iterable[Connection]) -> tuple[ConnectedClient, ...]:
    """Return each client once, though several brokers know it."""
    clients = {
        each.client_id or "": ConnectedClient(
            each.client_id or "",
            (each.client_addr or "").removeprefix("/"),
            each.language or "",
            version.name(each.version),
        )
        for each in connections
    }
    return tuple(clients[client_id] for client_id in sorted(clients))
