"""Messages that count only when what belongs to them is done: a half first, then its end."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from tailfin.client.calling import call_user
from tailfin.client.checking import DELAYED
from tailfin.client.errors import NoBroker, SendFailed, got_no_answer
from tailfin.client.hooks import EndingTransaction, Hook, overriding
from tailfin.client.messages import Message, ReceivedMessage, read_message, with_properties
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult, SendStatus
from tailfin.message import decode_message_id
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.headers.send import CheckTransactionStateRequestHeader, EndTransactionRequestHeader

log = logging.getLogger("tailfin.client")


class Transaction(Enum):
    """How a transaction ends; UNKNOWN: the broker asks again later."""

    COMMIT = 8
    ROLLBACK = 12
    UNKNOWN = 0


class Decision:
    """What became of a transaction so far; its `with` block ends it.

    Attributes:
        message: the half message.
        result: its result.
        state: how it will end; COMMIT unless the block says otherwise, or raises.
    """

    def __init__(self, message: Message, result: SendResult) -> None:
        self.message = message
        self.result = result
        self.state = Transaction.COMMIT

    @property
    def message_id(self) -> str:
        """The message's id, for the table in which a check-back looks it up."""
        return self.result.message_id

    def commit(self) -> None:
        """Let consumers have the message when the block ends."""
        self.state = Transaction.COMMIT

    def rollback(self) -> None:
        """Drop the message when the block ends."""
        self.state = Transaction.ROLLBACK

    def leave_open(self) -> None:
        """Decide nothing: the broker will ask, and `check` will answer."""
        self.state = Transaction.UNKNOWN

    def failed(self) -> None:
        """Hear that the block raised: the message is dropped, unless the block left it open."""
        if self.state is not Transaction.UNKNOWN:
            self.rollback()


class Transactions:
    """Ends of a producer's transactions, its own and those that brokers ask about."""

    def __init__(
        self, network: Network, group: str, check: Callable[..., Any] | None, hooks: Sequence[Hook]
    ) -> None:
        self._network = network
        self._group = group
        self._check = check
        self._hooks = overriding(hooks, "end_transaction")
        self._checks: set[asyncio.Task[None]] = set()

    def half_of(self, message: Message) -> Message:
        """Return the half message: what is sent first, and nobody may read yet."""
        marks = {"TRAN_MSG": "true", "PGROUP": self._group}
        return with_properties(message, marks, without=DELAYED)

    async def opened(self, message: Message, result: SendResult) -> Decision:
        """Take the result of a half; one that may be lost again is rolled back at once."""
        if result.status is not SendStatus.SEND_OK:
            await self.end(message, result, Transaction.ROLLBACK)
            text = (
                f"topic {message.topic!r}: the half message was stored with {result.status.name}: rolled back"
            )
            raise SendFailed(text, code=int(result.status.value), tries=1)
        return Decision(message, result)

    async def end(self, message: Message, result: SendResult, state: Transaction) -> None:
        """Tell the broker how a transaction ended.

        Raises:
            SendFailed: the broker refuses to commit, so nobody will get the message.
        """
        if state is Transaction.UNKNOWN:
            self._tell(
                message.topic, result.queue, result.message_id, result.transaction_id, state, check=False
            )
            return
        _, place = decode_message_id(result.offset_message_id)
        header = EndTransactionRequestHeader(
            topic=result.queue.topic,
            producer_group=self._group,
            tran_state_table_offset=result.queue_offset,
            commit_log_offset=place,
            commit_or_rollback=state.value,
            msg_id=result.message_id,
            transaction_id=result.transaction_id,
        )
        self._tell(message.topic, result.queue, result.message_id, result.transaction_id, state, check=False)
        try:
            address = self._network.address_of(result.queue.broker)
            await self._network.call(address, Code.END_TRANSACTION, header=header)
        except (RemotingError, NoBroker) as error:
            refusal = error if isinstance(error, RemotingError) and not got_no_answer(error) else None
            if state is Transaction.COMMIT and refusal:
                text = f"topic {message.topic!r}: broker {result.queue.broker} does not commit: {refusal}"
                raise SendFailed(text, code=refusal.code, tries=1) from None
            log.warning(
                "broker %s did not hear how transaction %s ended (%s): it will ask, and `check` answers: %s",
                result.queue.broker,
                result.message_id,
                state.name,
                error,
            )

    def asked(self, request: Frame) -> Frame | None:
        """Take a broker's question how a transaction of this group ended."""
        message = read_message(
            request.body,
            broker=self._network.name_of(request.origin or ""),
            namespace=self._network.options.namespace,
        )
        if message.property("PGROUP") != self._group:
            return None
        task = asyncio.create_task(self._answer(request, message))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)
        return Frame(code=ResponseCode.SUCCESS)

    async def _answer(self, request: Frame, message: ReceivedMessage) -> None:
        header = CheckTransactionStateRequestHeader.decode(request.fields)
        message_id = message.message_id
        state = await self._state_of(message, message_id)
        if state is Transaction.UNKNOWN or request.origin is None:
            return
        self._tell(message.topic, message.queue, message_id, header.transaction_id, state, check=True)
        answer = EndTransactionRequestHeader(
            topic=header.topic or message.stored_topic,
            producer_group=self._group,
            tran_state_table_offset=header.tran_state_table_offset,
            commit_log_offset=header.commit_log_offset,
            commit_or_rollback=state.value,
            from_transaction_check=True,
            msg_id=message_id,
            transaction_id=header.transaction_id,
        )
        try:
            await self._network.notify(request.origin, Code.END_TRANSACTION, header=answer)
        except RemotingError as error:
            log.warning("%s did not hear how transaction %s ended: %s", request.origin, message_id, error)

    async def _state_of(self, message: ReceivedMessage, message_id: str) -> Transaction:
        if self._check is None:
            log.warning(
                "a broker asks how transaction %s of group %s ended, and the producer has no `check`: pass "
                "check=function, which takes the message and returns a Transaction",
                message_id,
                self._group,
            )
            return Transaction.UNKNOWN
        try:
            state = await call_user(self._check, message)
        except Exception:
            log.exception("`check` failed for transaction %s: the broker will ask again", message_id)
            return Transaction.UNKNOWN
        if not isinstance(state, Transaction):
            log.error("`check` returned %r for transaction %s: it returns a Transaction", state, message_id)
            return Transaction.UNKNOWN
        return state

    def _tell(
        self,
        topic: str,
        queue: Queue,
        message_id: str,
        transaction_id: str | None,
        state: Transaction,
        *,
        check: bool,
    ) -> None:
        if not self._hooks:
            return
        ending = EndingTransaction(
            self._group, topic, message_id, transaction_id, queue.broker, state.name, check
        )
        for hook in self._hooks:
            try:
                hook.end_transaction(ending)
            except Exception:
                log.exception("%r failed, the transaction goes on", hook)
