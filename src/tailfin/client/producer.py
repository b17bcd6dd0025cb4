"""The producer on asyncio."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Self, Unpack

from tailfin.client import names
from tailfin.client.checking import check_group
from tailfin.client.errors import ClientStopped, SendFailed
from tailfin.client.letters import Select, Target
from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.producer_options import ProducerKeywords, split_keywords
from tailfin.client.production import Production
from tailfin.client.queues import Queue
from tailfin.client.receipts import OwnReceipt, PostedReceipt, Receipt
from tailfin.client.requests import near, reply_to
from tailfin.client.results import ProducerStats, SendResult
from tailfin.client.transactions import Decision


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
        self._production: Production | None = None

    # Life

    async def start(self) -> None:
        """Begin; `async with` does it."""
        if self._production is None:
            production = Production(self.group, self._client_options, self._options)
            await production.start()
            self._production = production

    async def stop(self) -> None:
        """Wait for what is under way, up to `stop_timeout`, say goodbye and close; `async with` does it."""
        production, self._production = self._production, None
        if production is not None:
            await production.stop()

    @property
    def running(self) -> Production:
        """Its parts, while it runs; raise ClientStopped."""
        if self._production is None:
            raise ClientStopped("the producer is not running: call start(), or use it in a `with` block")
        return self._production

    @property
    def _running_here(self) -> Production:
        """Its parts, for what waits in their event loop."""
        running = self.running
        running.network.check_loop()
        return running

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
        running = self._running_here
        letter = running.letters.write(message, Target(queue, sharding_key, select, timeout))
        return (await running.delivery.deliver(letter))[0]

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
    ) -> None:
        """Send a message, and neither wait for an answer nor learn of a failure."""
        running = self._running_here
        letter = running.letters.write(message, Target(queue, sharding_key, select), mode="oneway")
        await running.delivery.deliver(letter)

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
        running = self._running_here
        results: list[SendResult] = []
        for letter in running.letters.write_batch(messages, Target(queue, sharding_key, select, timeout)):
            try:
                results += await running.delivery.deliver(letter)
            except SendFailed as error:
                error.results = tuple(results)
                raise
        return results

    async def send_soon(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
    ) -> Receipt:
        """Hand over a message that is sent with others, `linger` seconds later at most.

        It waits only while `buffer_bytes` are under way. Messages whose queue is chosen go at once, each by
        itself.

        Returns:
            A receipt: `await` it for the result, or do not, and call `flush` now and then.

        Example:
            ```python
            receipts = [await producer.send_soon(message) for message in messages]
            results = [await receipt for receipt in receipts]
            ```
        """
        running = self._running_here
        if queue is None and sharding_key is None and select is None and not running.letters.has_hooks:
            posting = running.posting
            return PostedReceipt(posting.try_post(message) or await posting.post(message), running)
        letter = running.letters.write(message, Target(queue, sharding_key, select), mode="async")
        return OwnReceipt(await running.delivery.begin(letter))

    async def flush(self, timeout: float | None = None) -> bool:
        """Send what `send_soon` holds back, and wait for all that is under way.

        Returns:
            Whether everything has ended; False when the time is over first.
        """
        return await self._running_here.flush(timeout)

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
        seconds = self._options.timeout if timeout is None else timeout
        return await self._running_here.request(
            message, Target(queue, sharding_key, select, seconds), seconds
        )

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
        answer = reply_to(to, body, tags=tags, properties=properties)
        return await self.send(answer, select=near(to), timeout=timeout)

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
        transactions = self._running_here.transactions
        half = transactions.half_of(message)
        return await transactions.opened(half, await self.send(half, timeout=timeout))

    async def end_transaction(self, decision: Decision) -> None:
        """End a transaction as it was decided."""
        await self._running_here.transactions.end(decision.message, decision.result, decision.state)

    # The rest

    async def recall(self, topic: str, handle: str) -> str:
        """Take back a delayed message that was not delivered yet; return its id.

        Args:
            topic: the message's topic.
            handle: `recall_handle` of its result.

        Raises:
            RemotingError: the broker refuses; `recallMessageEnable` is off at brokers unless switched on.
        """
        return await self._running_here.recall(topic, handle)

    async def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that messages of a topic are sent to."""
        return await self._running_here.queues(topic)

    def stats(self) -> ProducerStats:
        """Return what was done since the start, and what is under way."""
        return self.running.stats()
