"""The producer on asyncio."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, Unpack

from tailfin.client import names
from tailfin.client.checking import check_group
from tailfin.client.delivery import Delivery
from tailfin.client.errors import ClientStopped, SendFailed
from tailfin.client.letters import Letters, Select, Target
from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerKeywords, split_keywords
from tailfin.client.queues import Queue
from tailfin.client.requests import Requests, no_reply, reply_to
from tailfin.client.results import SendResult
from tailfin.client.routes import Route
from tailfin.client.trace import Tracer
from tailfin.client.transactions import Decision, Transactions
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import ProducerData
from tailfin.wire.codes import Code
from tailfin.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader
from tailfin.wire.recall import RecallHandle


@dataclass(frozen=True, slots=True)
class ProducerStats:
    """What a producer has done since its start, and what it is doing.

    Attributes:
        sent: messages that were acknowledged.
        failed: messages that were not.
        retried: tries after the first.
        under_way: requests that wait for their answer.
        avoided: brokers that are left alone, with the milliseconds that are left.
    """

    sent: int
    failed: int
    retried: int
    under_way: int
    avoided: Mapping[str, float]


class Producer:
    """Sends messages.

    Args:
        group: the producer's group: brokers ask any member of it how a transaction ended.
        **keywords: those of `ProducerOptions` and `ClientOptions`.

    Example:
        ```python
        async with tailfin.aio.Producer("shop", nameserver="127.0.0.1:9876") as producer:
            await producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
        ```
    """

    def __init__(self, group: str, **keywords: Unpack[ProducerKeywords]) -> None:
        check_group(group)
        self._client_options, self._options = split_keywords(keywords)
        self._client_options.nameservers()
        self.group = names.wrap(self._client_options.namespace, group)
        self._is_running = False
        self._network: Network
        self._letters: Letters
        self._delivery: Delivery
        self._transactions: Transactions
        self._requests: Requests
        self._tracer: Tracer | None = None

    # Life

    async def start(self) -> None:
        """Begin; `async with` does it."""
        if self._is_running:
            return
        network = self._network = Network(self._client_options)
        hooks = list(self._client_options.hooks)
        if self._client_options.trace:
            unseen = Letters(network, self.group, self._options)
            courier = Delivery(network, self.group, self._options, unseen)
            self._tracer = Tracer(network, lambda message: courier.deliver(unseen.write(message, Target())))
            hooks.append(self._tracer)
        self._letters = Letters(network, self.group, self._options, hooks)
        self._delivery = Delivery(network, self.group, self._options, self._letters)
        self._transactions = Transactions(network, self.group, self._options.check, hooks)
        self._requests = Requests(network.client_id)
        await network.start()
        network.join(self)
        if self._tracer:
            self._tracer.start()
        self._is_running = True

    async def stop(self) -> None:
        """Wait for what is under way, up to `stop_timeout`, say goodbye and close; `async with` does it."""
        if not self._is_running:
            return
        self._is_running = False
        await self._delivery.drain(self._client_options.stop_timeout)
        if self._tracer:
            await self._tracer.stop()
        await self._network.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    # Sending

    async def send(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Send a message and wait until a broker has acknowledged it.

        Args:
            message: what to send.
            queue: send it to this queue.
            sharding_key: send it to the queue of this key: messages with one key stay in order.
            select: send it to the queue that this returns, called with all queues and the message.
            timeout: seconds for all tries.

        Returns:
            Where the message is; look at `status` if it matters whether it was flushed and copied.

        Raises:
            MessageRefused: no broker would take it.
            NoRoute: the topic does not exist.
            SendFailed: it was not acknowledged; SendTimeout when time ran out.

        Example:
            ```python
            result = await producer.send(tailfin.Message("orders", b"paid 42"), sharding_key="customer-7")
            ```
        """
        letter = self._running().write(message, Target(queue, sharding_key, select, timeout))
        return (await self._delivery.deliver(letter))[0]

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
    ) -> None:
        """Send a message, and neither wait for an answer nor learn of a failure."""
        letter = self._running().write(message, Target(queue, sharding_key, select), mode="oneway")
        await self._delivery.deliver(letter, oneway=True)

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
        timeout: float | None = None,
    ) -> list[SendResult]:
        """Send messages of one topic together; more than fit into one request travel in several.

        Raises:
            MessageRefused: the text and `.index` say which message it is about; nothing was sent.
            SendFailed: `.results` has those of the requests before.

        Example:
            ```python
            await producer.send_batch([tailfin.Message("orders", text) for text in texts])
            ```
        """
        results: list[SendResult] = []
        for letter in self._running().write_batch(messages, Target(queue, sharding_key, select, timeout)):
            try:
                results += await self._delivery.deliver(letter)
            except SendFailed as error:
                error.results = tuple(results)
                raise
        return results

    # Request and reply

    async def request(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send a message that a consumer replies to, and wait for the reply.

        Raises:
            RequestTimeout: no reply came in time.

        Example:
            ```python
            answer = await producer.request(tailfin.Message("prices", b"apples"), timeout=5)
            ```
        """
        letters = self._running()
        seconds = self._options.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        marked, request_id, reply = self._requests.open(message, seconds)
        try:
            letter = letters.write(marked, Target(queue, sharding_key, select, seconds), mode="async")
            await self._delivery.route(letter.topic)
            # The reply comes over this producer's connection to a broker, which has to know whose it is.
            await self._network.introduce()
            await self._delivery.deliver(letter)
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await reply
        except TimeoutError:
            raise no_reply(message.topic, seconds) from None
        finally:
            self._requests.close(request_id)

    async def reply(
        self,
        to: ReceivedMessage,
        body: bytes,
        *,
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Reply to a message that was sent with `request`.

        Example:
            ```python
            async def handler(message):
                await producer.reply(message, b"2.50")
            ```
        """
        return await self.send(reply_to(to, body, tags=tags, properties=properties), timeout=timeout)

    # Transactions

    @contextlib.asynccontextmanager
    async def transaction(self, message: Message, *, timeout: float | None = None) -> AsyncIterator[Decision]:
        """Send a message that counts only when the block has ended well.

        The message is stored before the block begins, and consumers get it when the block has ended. An
        exception drops it. When the process dies in between, the broker asks `check` of a producer of the
        same group.

        Example:
            ```python
            async with producer.transaction(tailfin.Message("orders", b"paid 42")) as transaction:
                await database.execute("insert into paid values (42, ?)", transaction.message_id)
            ```
        """
        decision = await self.begin_transaction(message, timeout=timeout)
        try:
            yield decision
        except BaseException:
            decision.failed()
            await self.end_transaction(decision)
            raise
        await self.end_transaction(decision)

    async def begin_transaction(self, message: Message, *, timeout: float | None = None) -> Decision:
        """Send the half of a message whose end does not come in the same block."""
        self._running()
        half = self._transactions.half_of(message)
        return await self._transactions.opened(half, await self.send(half, timeout=timeout))

    async def end_transaction(self, decision: Decision) -> None:
        """End a transaction as it was decided."""
        self._running()
        await self._transactions.end(decision.message, decision.result, decision.state)

    # The rest

    async def recall(self, topic: str, handle: str) -> str:
        """Take back a delayed message that was not delivered yet; return its id.

        Args:
            topic: the message's topic.
            handle: `recall_handle` of its result.

        Raises:
            RemotingError: the broker refuses; `recallMessageEnable` is off at brokers unless switched on.
        """
        self._running()
        wire_topic = names.wrap(self._client_options.namespace, topic)
        await self._delivery.route(wire_topic)
        header = RecallMessageRequestHeader(producer_group=self.group, topic=wire_topic, recall_handle=handle)
        address = self._network.address_of(RecallHandle.decode(handle).broker)
        answer = await self._network.call(address, Code.RECALL_MESSAGE, header=header)
        return RecallMessageResponseHeader.decode(answer.fields).msg_id

    async def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that messages of a topic are sent to."""
        letters = self._running()
        wire_topic = names.wrap(self._client_options.namespace, topic)
        await self._delivery.route(wire_topic)
        return tuple(letters.user_queue(*each) for each in letters.queues(wire_topic))

    def stats(self) -> ProducerStats:
        """Return what was done since the start, and what is under way."""
        counts = self._running().counts
        return ProducerStats(
            sent=counts.sent,
            failed=counts.failed,
            retried=counts.retried,
            under_way=self._delivery.under_way,
            avoided=self._letters.faults.snapshot(time.monotonic() * 1000),
        )

    # A member of the network

    @property
    def handlers(self) -> Mapping[int, Handler]:
        """What it does with brokers' requests."""
        return {
            Code.CHECK_TRANSACTION_STATE: self._transactions.asked,
            Code.PUSH_REPLY_MESSAGE_TO_CLIENT: self._requests.replied,
        }

    def heartbeat(self) -> ProducerData:
        """Return what brokers are told about it."""
        return ProducerData(group_name=self.group)

    def route_changed(self, route: Route) -> None:
        """Hear of a topic's first or changed route."""

    def _running(self) -> Letters:
        if not self._is_running:
            raise ClientStopped("the producer is not running: call start(), or use it in a `with` block")
        return self._letters
