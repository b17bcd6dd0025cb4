"""RESUME_CHECK_HALF_MESSAGE: an operator has a transaction that was given up asked about again."""

from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import put
from tailfin.broker.transactions import halves
from tailfin.broker.transactions.counting import OpenCounts
from tailfin.broker.transactions.ledger import Ledger
from tailfin.message import Message
from tailfin.remoting import Request, Response, handles
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.send import ResumeCheckHalfMessageRequestHeader

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

FAILED = f"Put message back to {names.HALF_TOPIC} failed."


class Resuming:
    """Handler of RESUME_CHECK_HALF_MESSAGE."""

    def __init__(self, broker: "Broker", ledger: Ledger, counts: OpenCounts) -> None:
        self._broker = broker
        self._ledger = ledger
        self._counts = counts

    @handles(Code.RESUME_CHECK_HALF_MESSAGE)
    async def resume(self, request: Request) -> Response:
        """Put a given-up half back into its topic, as if it had never been asked about."""
        header = ResumeCheckHalfMessageRequestHeader.decode(request.fields)
        lost = self._found(header.msg_id or "")
        outcome = await put(self._broker.store, halves.resumed(lost))
        if outcome.appended is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{FAILED} {outcome.remark}")
        self._ledger.moved(lost.unique_key, outcome.appended.queue_offset)
        self._counts.prepared(halves.real_topic(lost))
        return Response()

    def _found(self, message_id: str) -> Message:
        try:
            message = self._broker.store.message_by_id(message_id)
        except ValueError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{FAILED} {error}") from None
        if message is None or message.topic != names.CHECK_MAX_TOPIC:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"{FAILED} {message_id} is no message of {names.CHECK_MAX_TOPIC}"
            )
        return message
