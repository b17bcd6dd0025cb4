"""Request and reply: an answer goes straight to the producer that asked, and into the reply topic."""

import logging
from typing import TYPE_CHECKING

from tailfin.broker.send import Sends
from tailfin.broker.storing import Draft, Outcome, properties_text, put
from tailfin.remoting import Request, Response, handles
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms
from tailfin.wire.headers.send import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageResponseHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
PUSH_TIME = "PUSH_REPLY_TIME"
PUSH_WITHIN_S = 10.0
NOT_STORED_ID = "0"
"""A producer wants a message id even for a reply that is nowhere in the log."""


class Replies:
    """Handler of SEND_REPLY_MESSAGE in both forms."""

    def __init__(self, broker: "Broker", sends: Sends) -> None:
        self._broker = broker
        self._sends = sends

    @handles(Code.SEND_REPLY_MESSAGE, Code.SEND_REPLY_MESSAGE_V2)
    async def reply(self, request: Request) -> Response:
        """Push a reply to the producer that waits for it; keep it, if replies are kept."""
        broker = self._broker
        marks = self._sends.marks()
        try:
            header = SendMessageRequestHeader.decode(request.fields)
            topic = self._sends.checked(header, request)
        except RemotingError as error:
            return Response(error.code, error.remark, fields=marks)
        draft = self._sends.draft(header, topic, request)
        trouble = await self._push(header, draft)
        stored = await self._keep(draft) if broker.config.storeReplyMessageEnable else None
        where = stored.appended if stored else None
        answer = SendMessageResponseHeader(
            msg_id=where.message_id if where else NOT_STORED_ID,
            queue_id=draft.queue_id,
            queue_offset=where.queue_offset if where else 0,
        )
        code = ResponseCode.SYSTEM_ERROR if trouble else ResponseCode.SUCCESS
        return Response(code, trouble, fields={**marks, **answer.encode()})

    async def _push(self, header: SendMessageRequestHeader, draft: Draft) -> str | None:
        """Hand the reply to its producer; return what went wrong, None when nothing did."""
        broker = self._broker
        client_id = draft.properties.get(REPLY_TO_CLIENT)
        if client_id is None:
            return f"reply message properties[{REPLY_TO_CLIENT}] is null"
        producer = broker.clients.producer_by_id(client_id)
        if producer is None:
            return f"push reply message fail, channel of <{client_id}> not found."
        now = now_ms()
        pushed = ReplyMessageRequestHeader(
            producer_group=header.producer_group,
            topic=header.topic,
            default_topic=header.default_topic,
            default_topic_queue_nums=header.default_topic_queue_nums,
            queue_id=header.queue_id,
            sys_flag=header.sys_flag,
            born_timestamp=header.born_timestamp,
            flag=header.flag,
            properties=properties_text({**draft.properties, PUSH_TIME: str(now)}),
            reconsume_times=header.reconsume_times,
            unit_mode=bool(header.unit_mode),
            born_host=draft.born_host or "",
            store_host=broker.address,
            store_timestamp=now,
        )
        try:
            answer = await broker.server.call(
                producer.connection,
                Code.PUSH_REPLY_MESSAGE_TO_CLIENT,
                header=pushed,
                body=draft.body,
                timeout=PUSH_WITHIN_S,
            )
        except RemotingError as error:
            return f"push reply message to {client_id} fail: {error.remark}"
        if answer.code != ResponseCode.SUCCESS:
            return f"push reply message to {client_id} fail: {answer.remark or f'code {answer.code}'}"
        return None

    async def _keep(self, draft: Draft) -> Outcome:
        outcome = await put(self._broker.store, draft)
        if outcome.appended is None:
            log.warning("a reply for %s was not stored: %s", draft.topic, outcome.remark)
        else:
            self._broker.counting.count_put(draft.topic, outcome.appended)
        return outcome
