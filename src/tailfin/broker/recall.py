"""Recalling a timed message: the producer gets a handle with its send, and may take the message back with it.

A recall is itself a timed message, for the same slot as the one it takes back.
"""

import time
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import REAL_TOPIC, UNIQUE_KEY, Draft, put
from tailfin.broker.waiting import DELIVER_MS, OUT_MS, RECALLS
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.topics import Perm
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader
from tailfin.wire.recall import RecallHandle

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

TAG = "_RECALL_TAG_"


def handle_of(stored: Draft, broker: str) -> RecallHandle | None:
    """Return the handle of a message that is stored; None unless it waits by the timer."""
    topic, out = stored.properties.get(REAL_TOPIC), stored.properties.get(OUT_MS)
    key = stored.properties.get(UNIQUE_KEY)
    if not (topic and out and key) or topic.startswith(names.RETRY_PREFIX):
        return None
    # One more, so that the recall, which is for this time, falls into the same slot.
    return RecallHandle(topic, broker, int(out) + 1, key)


class Recalls:
    """Handler of RECALL_MESSAGE."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.RECALL_MESSAGE)
    async def recall(self, request: Request) -> Response:
        """Take a timed message back."""
        broker = self._broker
        region = {"MSG_REGION": broker.config.regionId}
        try:
            header = RecallMessageRequestHeader.decode(request.fields)
            self._check_broker()
            if header.topic not in broker.topics:
                raise RemotingError(
                    ResponseCode.TOPIC_NOT_EXIST, f"recall failed: there is no topic {header.topic}"
                )
            handle = RecallHandle.decode(header.recall_handle)
            self._check(handle, header.topic)
            stored = broker.waiting.placed(self._message(handle, header, request))
        except RemotingError as error:
            return Response(error.code, error.remark, fields=region)
        outcome = await put(broker.store, stored)
        if outcome.appended is None:
            remark = f"recall failed: {outcome.remark}"
            return Response(ResponseCode.SYSTEM_ERROR, remark, fields=region)
        broker.counting.count_put(stored.topic, outcome.appended)
        answer = RecallMessageResponseHeader(msg_id=handle.unique_key)
        return Response(fields={**region, **answer.encode()})

    def _check_broker(self) -> None:
        config = self._broker.config
        if not config.recallMessageEnable:
            raise RemotingError(
                ResponseCode.NO_PERMISSION, "recall failed: it is forbidden here (recallMessageEnable=false)"
            )
        if self._broker.is_slave:
            raise RemotingError(ResponseCode.SLAVE_NOT_AVAILABLE, "recall failed: this broker is a slave")
        opens = config.startAcceptSendRequestTimeStamp
        closed = not config.brokerPermission & Perm.WRITE and not config.allowRecallWhenBrokerNotWriteable
        if closed or time.time() * 1000 < opens:
            raise RemotingError(
                ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed: the broker takes no messages now"
            )

    def _check(self, handle: RecallHandle, topic: str) -> None:
        if handle.topic != topic:
            raise _refused(f"the handle is for topic {handle.topic}")
        if handle.broker != self._broker.config.brokerName:
            raise _refused(f"the message waits at broker {handle.broker}")
        left = handle.timestamp - self._broker.clock.now_ms()
        if not 0 < left < self._broker.settings.store.timerMaxDelaySec * 1000:
            raise _refused("the message's time has come, or is not one that it can have")

    def _message(self, handle: RecallHandle, header: RecallMessageRequestHeader, request: Request) -> Draft:
        now = time.time_ns() // 1_000_000
        properties = {
            "TAGS": TAG,
            RECALLS: f"{handle.topic}+{handle.unique_key}",
            UNIQUE_KEY: handle.unique_key,
            DELIVER_MS: str(handle.timestamp),
            "BORN_TIMESTAMP": str(now),
        }
        if header.producer_group:
            properties["PGROUP"] = header.producer_group
        return Draft(
            topic=handle.topic,
            queue_id=0,
            body=b"0",
            properties=properties,
            born_timestamp=now,
            born_host=request.peer,
        )


def _refused(why: str) -> RemotingError:
    return RemotingError(ResponseCode.ILLEGAL_OPERATION, f"recall failed: {why}")
