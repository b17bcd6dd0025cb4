"""Request and reply over messages: the reply comes back over the producer's own connection."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence

from tailfin.client.errors import ClientError, RequestTimeout
from tailfin.client.letters import Select
from tailfin.client.messages import Message, ReceivedMessage, read_message, with_properties
from tailfin.client.names import REPLY_SUFFIX
from tailfin.client.queues import Queue
from tailfin.message import encode_record
from tailfin.wire.codes import ResponseCode
from tailfin.wire.frame import Frame
from tailfin.wire.headers.send import ReplyMessageRequestHeader

CORRELATION_ID = "CORRELATION_ID"
REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
TTL = "TTL"


class Requests:
    """Requests that wait for their reply."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._waiting: dict[str, asyncio.Future[ReceivedMessage]] = {}

    def open(self, message: Message, timeout: float) -> tuple[Message, str, asyncio.Future[ReceivedMessage]]:
        """Return the message to send, the request's id, and what its reply will be put into."""
        request_id = str(uuid.uuid4())
        marks = {
            CORRELATION_ID: request_id,
            REPLY_TO_CLIENT: self._client_id,
            TTL: str(round(timeout * 1000)),
        }
        reply = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        return with_properties(message, marks), request_id, reply

    def close(self, request_id: str) -> None:
        """Wait no longer."""
        self._waiting.pop(request_id, None)

    def replied(self, request: Frame) -> Frame | None:
        """Take a reply that a broker brings; None when it is not for this producer."""
        message = _pushed(request)
        reply = self._waiting.get(message.property(CORRELATION_ID) or "")
        if reply is None:
            return None
        if not reply.done():
            reply.set_result(message)
        return Frame(code=ResponseCode.SUCCESS)


def no_reply(topic: str, timeout: float) -> RequestTimeout:
    """Return the error of a request that nobody replied to."""
    return RequestTimeout(
        f"topic {topic!r}: the request was sent, and no reply came within {timeout:g} s: does a consumer "
        "of the topic run, and does its handler call producer.reply?"
    )


def reply_to(
    to: ReceivedMessage, body: bytes, *, tags: str | None = None, properties: Mapping[str, str] | None = None
) -> Message:
    """Make the message that replies to a request; raise ClientError when it is none."""
    cluster, request_id, client = (to.property(each) for each in ("CLUSTER", CORRELATION_ID, REPLY_TO_CLIENT))
    if not (cluster and request_id and client):
        raise ClientError(
            f"message {to.message_id} was not sent with `request`: nobody waits for a reply to it"
        )
    marks = {"MSG_TYPE": "reply", CORRELATION_ID: request_id, REPLY_TO_CLIENT: client}
    if ttl := to.property(TTL):
        marks[TTL] = ttl
    return Message(cluster + REPLY_SUFFIX, body, tags=tags, properties={**(properties or {}), **marks})


def near(to: ReceivedMessage) -> Select:
    """Return a selector of a queue on the broker that has the request: it surely knows who asked."""

    def select(queues: Sequence[Queue], message: Message) -> Queue:
        return next((each for each in queues if each.broker == to.broker), queues[0])

    return select


def _pushed(request: Frame) -> ReceivedMessage:
    header = ReplyMessageRequestHeader.decode(request.fields)
    return read_message(
        encode_record(
            topic=header.topic,
            body=request.body,
            properties=(header.properties or "").encode(),
            queue_id=header.queue_id,
            flag=header.flag,
            sys_flag=header.sys_flag,
            born_timestamp=header.born_timestamp,
            born_host=header.born_host.removeprefix("/"),
            store_timestamp=header.store_timestamp,
            store_host=header.store_host.removeprefix("/"),
            reconsume_times=header.reconsume_times or 0,
        ),
        broker=header.bname or "",
        namespace=None,
    )
