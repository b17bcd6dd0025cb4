"""The trace of messages: who sent and consumed what, when, and how it ended."""

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable

from tailfin.client import trace_records as records
from tailfin.client.checking import DELAYED
from tailfin.client.errors import ClientError
from tailfin.client.hooks import Consuming, EndingTransaction, Hook, Sending
from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.network import Network
from tailfin.client.pauses import pause
from tailfin.client.trace_records import ConsumeCode, Kind, Record, Traced
from tailfin.wire.header import now_ms

log = logging.getLogger("tailfin.client")

WAITING_MAX = 2048
BATCH = 20
FLUSH_S = 5.0
MESSAGE_BYTES_MAX = 128_000


class Tracer(Hook):
    """A hook that notes what happens, and sends it to the trace topic now and then.

    Hooks run in any thread; records wait in a bounded queue, and are dropped, and counted, when it is full:
    a trace must not hold up what it traces.

    Args:
        network: whose messages are traced.
        send: sends one message, without hooks.
    """

    def __init__(self, network: Network, send: Callable[[Message], Awaitable[object]]) -> None:
        self._network = network
        self._send = send
        self._topic = network.options.trace_topic
        self._client = network.client_id.partition("@")[0]
        self._waiting: deque[Record] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._full = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def start(self) -> None:
        """Begin to send."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._keep_sending())

    async def stop(self) -> None:
        """Send what is left, and end."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._flush()

    def before_send(self, sending: Sending) -> None:
        """Note when a send began."""
        sending.notes["trace_began"] = time.monotonic()

    def after_send(self, sending: Sending) -> None:
        """Note how it ended; a broker can ask for no traces."""
        result = sending.result
        if sending.mode == "oneway" or (result and not result.trace_on):
            return
        message, properties = sending.message, sending.message.properties
        traced = Traced(
            topic=message.topic,
            message_id=result.message_id if result else properties.get("UNIQ_KEY", ""),
            tags=properties.get("TAGS", ""),
            keys=properties.get("KEYS", ""),
            store_host=self._address_of(result.queue.broker) if result else "",
            offset_message_id=result.offset_message_id if result else "",
            body_length=len(message.body),
            kind=_kind(message),
        )
        cost_ms = round((time.monotonic() - sending.notes["trace_began"]) * 1000)
        self._note(
            records.published(
                traced,
                at_ms=now_ms() - cost_ms,
                region=result.region_id if result else "",
                group=sending.group,
                cost_ms=cost_ms,
                success=result is not None,
                client=self._client,
            )
        )

    def end_transaction(self, ending: EndingTransaction) -> None:
        """Note how a transaction ended."""
        traced = Traced(
            topic=ending.topic, message_id=ending.message_id, store_host=self._address_of(ending.broker)
        )
        self._note(
            records.transaction_ended(
                traced,
                at_ms=now_ms(),
                region="",
                group=ending.group,
                transaction_id=ending.transaction_id or "",
                state=_JAVA_STATES[ending.state],
                from_check=ending.from_check,
            )
        )

    def before_consume(self, consuming: Consuming) -> None:
        """Note that messages are given to a handler."""
        consuming.notes["trace_began"] = time.monotonic()
        request_id = consuming.notes["trace_id"] = uuid.uuid4().hex.upper()
        for message in consuming.messages:
            if _is_wanted(message):
                self._note(
                    records.before_consuming(
                        _received(message),
                        at_ms=now_ms(),
                        region=message.property("MSG_REGION") or "",
                        group=consuming.group,
                        request_id=request_id,
                        retries=message.reconsume_times,
                    )
                )

    def after_consume(self, consuming: Consuming) -> None:
        """Note how the handler ended."""
        messages = [each for each in consuming.messages if _is_wanted(each)]
        if not messages:
            return
        cost_ms = round((time.monotonic() - consuming.notes["trace_began"]) * 1000 / len(messages))
        code = (
            ConsumeCode.SUCCESS
            if consuming.success
            else ConsumeCode.EXCEPTION
            if consuming.error
            else ConsumeCode.FAILED
        )
        for message in messages:
            self._note(
                records.after_consuming(
                    _received(message),
                    at_ms=now_ms(),
                    group=consuming.group,
                    request_id=consuming.notes["trace_id"],
                    cost_ms=cost_ms,
                    success=consuming.success,
                    code=code,
                )
            )

    def _address_of(self, broker: str) -> str:
        return self._network.addresses_of(broker).get(0, broker)

    def _note(self, record: Record) -> None:
        if len(self._waiting) >= WAITING_MAX:
            self.dropped += 1
            return
        self._waiting.append(record)
        if len(self._waiting) >= BATCH and self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._full.set)

    async def _keep_sending(self) -> None:
        while True:
            await pause(self._full, FLUSH_S)
            await self._flush()

    async def _flush(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        for start in range(0, len(batch), BATCH):
            for body, keys in records.pack(batch[start : start + BATCH], MESSAGE_BYTES_MAX):
                try:
                    await self._send(Message(self._topic, body, keys=keys))
                except ClientError as error:
                    log.warning("a trace of %d messages is lost: %s", len(batch), error)


_JAVA_STATES = {"COMMIT": "COMMIT_MESSAGE", "ROLLBACK": "ROLLBACK_MESSAGE", "UNKNOWN": "UNKNOW"}


def _kind(message: Message) -> Kind:
    if message.properties.get("TRAN_MSG") == "true":
        return Kind.HALF
    return Kind.DELAYED if message.properties.keys() & DELAYED else Kind.NORMAL


def _is_wanted(message: ReceivedMessage) -> bool:
    return message.property("TRACE_ON") != "false"


def _received(message: ReceivedMessage) -> Traced:
    return Traced(
        topic=message.topic,
        message_id=message.message_id,
        tags=message.tags or "",
        keys=" ".join(message.keys),
        store_host=message.store_host,
        body_length=len(message.body),
    )
