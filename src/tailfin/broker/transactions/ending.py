"""END_TRANSACTION: a producer's word on a half, given by itself or because it was asked."""

import asyncio
import logging
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import Draft
from tailfin.broker.transactions import halves
from tailfin.broker.transactions.closing import Closer, Closing
from tailfin.broker.transactions.counting import OpenCounts
from tailfin.broker.transactions.finding import was_committed
from tailfin.broker.transactions.judging import is_late
from tailfin.broker.transactions.ledger import Ledger
from tailfin.message import Message
from tailfin.remoting import Request, Response, handles
from tailfin.store import AppendRefused
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.send import EndTransactionRequestHeader

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

NOT_FOUND = "Find prepared transaction message failed"
_CODES = {
    "MESSAGE_ILLEGAL": ResponseCode.MESSAGE_ILLEGAL,
    "PROPERTIES_SIZE_EXCEEDED": ResponseCode.MESSAGE_ILLEGAL,
    "SERVICE_NOT_AVAILABLE": ResponseCode.SERVICE_NOT_AVAILABLE,
}


class Endings:
    """Handler of END_TRANSACTION."""

    def __init__(self, broker: "Broker", ledger: Ledger, closer: Closer, counts: OpenCounts) -> None:
        self._broker = broker
        self._ledger = ledger
        self._closer = closer
        self._counts = counts

    @handles(Code.END_TRANSACTION)
    async def end(self, request: Request) -> Response | None:
        """Commit or roll back; a producer that does not know yet gets no answer, as from RocketMQ."""
        header = EndTransactionRequestHeader.decode(request.fields)
        if self._broker.is_slave:
            raise RemotingError(
                ResponseCode.SLAVE_NOT_AVAILABLE, "a slave ends no transactions: turn to its master"
            )
        if header.commit_or_rollback not in (halves.COMMIT, halves.ROLLBACK):
            return None
        try:
            half = self._found(header)
            await self._decide(half, commits=header.commit_or_rollback == halves.COMMIT)
        except RemotingError as error:
            # Producers ask for no answer, so nobody else would hear of it.
            log.warning("%s cannot end transaction %s: %s", request.peer, header.msg_id, error.remark)
            raise
        return Response()

    def _found(self, header: EndTransactionRequestHeader) -> Message:
        """Return the half that a request names, if it may end it."""
        broker = self._broker
        place = header.commit_log_offset
        half = broker.store.message_at(place) if place >= 0 else None
        if half is None or half.topic != names.HALF_TOPIC or not halves.real_topic(half):
            raise RemotingError(ResponseCode.SYSTEM_ERROR, NOT_FOUND)
        age_ms = broker.clock.now_ms() - broker.clock.at_ms(half.born_timestamp)
        if not header.from_transaction_check and is_late(half, age_ms, broker.config.transactionTimeOut):
            raise RemotingError(
                ResponseCode.ILLEGAL_OPERATION,
                "the time that the producer named for itself is over: it will be asked for the outcome",
            )
        if half.get_property(halves.PRODUCER_GROUP) != header.producer_group:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
        if half.queue_offset != header.tran_state_table_offset:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
        return half

    async def _decide(self, half: Message, *, commits: bool) -> None:
        while until := self._ledger.claimed(half):
            await asyncio.wait([until])
        in_doubt = self._ledger.current(half) is None or half.queue_offset < self._ledger.inherited
        if in_doubt and await asyncio.to_thread(was_committed, self._broker.store, half):
            await self._was_committed(half, commits=commits)
            return
        # Others may have been quicker while we looked.
        while until := self._ledger.claimed(half):
            await asyncio.wait([until])
        offset = self._ledger.current(half)
        if offset is not None:
            await self._close(half, offset, self._final(half) if commits else None)
        elif commits:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"{NOT_FOUND}: it was rolled back, or given up, before"
            )

    async def _was_committed(self, half: Message, *, commits: bool) -> None:
        """Answer who ends a transaction that was committed; its half is closed if that was lost."""
        if not commits:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{NOT_FOUND}: it was committed before")
        if (offset := self._ledger.current(half)) is not None:
            await self._close(half, offset, None)

    async def _close(self, half: Message, offset: int, final: Draft | None) -> None:
        result = await self._closer.close(Closing(offset, half.unique_key, final))
        if isinstance(result, AppendRefused):
            raise RemotingError(_CODES.get(result.status, ResponseCode.SYSTEM_ERROR), str(result))
        self._counts.ended(halves.real_topic(half))
        if final and result:
            self._broker.counting.count_put(final.topic, result)

    def _final(self, half: Message) -> Draft:
        return self._broker.waiting.placed(halves.committed(half))
