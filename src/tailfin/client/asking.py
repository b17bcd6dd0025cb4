"""What brokers ask of clients, and who answers."""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol

from tailfin.client.routes import Route
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import ConsumerData, ProducerData
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame

ASKED_BY_BROKERS = (
    Code.CHECK_TRANSACTION_STATE,
    Code.NOTIFY_CONSUMER_IDS_CHANGED,
    Code.RESET_CONSUMER_CLIENT_OFFSET,
    Code.GET_CONSUMER_STATUS_FROM_CLIENT,
    Code.GET_CONSUMER_RUNNING_INFO,
    Code.CONSUME_MESSAGE_DIRECTLY,
    Code.PUSH_REPLY_MESSAGE_TO_CLIENT,
)


class Member(Protocol):
    """A producer or consumer on a network."""

    @property
    def group(self) -> str:
        """Its group's name, with the namespace."""

    @property
    def handlers(self) -> Mapping[int, Handler]:
        """What it does with brokers' requests, by code; None leaves a request to the next member."""

    def heartbeat(self) -> ProducerData | ConsumerData:
        """Return what brokers are told about it."""

    def route_changed(self, route: Route) -> None:
        """Hear of a topic's first or changed route."""


async def ask_members(members: Iterable[Member], request: Frame, client_id: str) -> Frame | None:
    """Give a broker's request to the members of the group that it names, until one answers."""
    group = request.fields.get("consumerGroup") or request.fields.get("group")
    for member in members:
        handler = member.handlers.get(request.code)
        if handler is None or (group is not None and group != member.group):
            continue
        answer = handler(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer is not None:
            return answer
    if request.is_oneway:
        return None
    remark = f"nobody in client {client_id} answers request {request.code} for group {group}"
    return Frame(code=ResponseCode.SYSTEM_ERROR, remark=remark)
