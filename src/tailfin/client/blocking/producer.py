"""The blocking producer."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Unpack

from tailfin.client import producer as asynchronous
from tailfin.client.blocking.face import Face
from tailfin.client.blocking.receipts import ForwardedReceipt, Receipt
from tailfin.client.errors import MessageRefused
from tailfin.client.letters import Select, Target
from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.producer_options import ProducerKeywords
from tailfin.client.queues import Queue
from tailfin.client.receipts import OwnReceipt
from tailfin.client.results import ProducerStats, SendResult
from tailfin.client.transactions import Decision


class Producer(Face):
    """Sends messages; any thread may use it. `tailfin.aio.Producer` is the same to `await`.

    Args:
        group: the producer's group: brokers ask any member of it how a transaction ended.
        **keywords: those of `ProducerOptions` and `ClientOptions`.

    Example:
        ```python
        with tailfin.Producer("shop", nameserver="127.0.0.1:9876") as producer:
            producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
        ```
    """

    def __init__(self, group: str, **keywords: Unpack[ProducerKeywords]) -> None:
        self._core = asynchronous.Producer(group, **keywords)
        super().__init__(self._core, "producer")
        self._post: Callable[[Message], Receipt | None] | None = None

    @property
    def group(self) -> str:
        """The group, with the namespace."""
        return self._core.group

    def start(self) -> None:
        """Begin; `with` does it."""
        super().start()
        self._post = self._core.running.post

    def _end(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._post is not None:
            self._post = None
            self._core.running.delivery.end_here()
        super()._end(kind, error, where)

    def send(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Send a message and wait until a broker has acknowledged it; see `tailfin.aio.Producer.send`."""
        portal, running = self._opened(), self._core.running
        portal.check()
        letter = running.letters.write(message, Target(queue, sharding_key, select, timeout))
        return running.delivery.deliver_here(letter, portal.call)[0]

    def send_soon(
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
            A receipt: `result()` waits for the result; or do not ask, and call `flush` now and then.

        Example:
            ```python
            receipts = [producer.send_soon(message) for message in messages]
            results = [receipt.result() for receipt in receipts]
            ```
        """
        # For each message: every call more costs as much as a fifth of the engine's work.
        post = self._post
        if post is not None and queue is None and sharding_key is None and select is None:
            while True:
                try:
                    receipt = post(message)
                except ValueError as error:
                    raise MessageRefused(str(error)) from None
                if receipt is not None:
                    return receipt
                self._call(self._core.running.posting.open(message.topic))
        portal, running = self._opened(), self._core.running
        letter = running.letters.write(message, Target(queue, sharding_key, select), mode="async")
        return ForwardedReceipt(OwnReceipt(portal.call(running.delivery.begin(letter))), portal)

    def flush(self, timeout: float | None = None) -> bool:
        """Send what `send_soon` holds back, and wait for all that is under way.

        Returns:
            Whether everything has ended; False when the time is over first.
        """
        portal = self._opened()
        self._core.running.delivery.end_here()
        return portal.call(self._core.flush(timeout))

    def send_oneway(
        self,
        message: Message,
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
    ) -> None:
        """Send a message, and neither wait for an answer nor learn of a failure."""
        self._call(self._core.send_oneway(message, queue=queue, sharding_key=sharding_key, select=select))

    def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: Queue | None = None,
        sharding_key: str | None = None,
        select: Select | None = None,
        timeout: float | None = None,
    ) -> list[SendResult]:
        """Send messages of one topic together; more than fit into one request travel in several."""
        return self._call(
            self._core.send_batch(
                messages, queue=queue, sharding_key=sharding_key, select=select, timeout=timeout
            )
        )

    def request(
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
            answer = producer.request(tailfin.Message("prices", b"apples"), timeout=5)
            ```
        """
        return self._call(
            self._core.request(
                message, queue=queue, sharding_key=sharding_key, select=select, timeout=timeout
            )
        )

    def reply(
        self,
        to: ReceivedMessage,
        body: bytes,
        *,
        tags: str | None = None,
        properties: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Reply to a message that was sent with `request`."""
        return self._call(self._core.reply(to, body, tags=tags, properties=properties, timeout=timeout))

    @contextlib.contextmanager
    def transaction(self, message: Message, *, timeout: float | None = None) -> Iterator[Decision]:
        """Send a message that counts only when the block has ended well.

        The message is stored before the block begins, and consumers get it when the block has ended. An
        exception drops it. When the process dies in between, the broker asks `check` of a producer of the
        same group.

        Example:
            ```python
            with producer.transaction(tailfin.Message("orders", b"paid 42")) as transaction:
                database.execute("insert into paid values (42, ?)", transaction.message_id)
            ```
        """
        decision = self.begin_transaction(message, timeout=timeout)
        try:
            yield decision
        except BaseException:
            decision.failed()
            self.end_transaction(decision)
            raise
        self.end_transaction(decision)

    def begin_transaction(self, message: Message, *, timeout: float | None = None) -> Decision:
        """Send the half of a message whose end does not come in the same block."""
        return self._call(self._core.begin_transaction(message, timeout=timeout))

    def end_transaction(self, decision: Decision) -> None:
        """End a transaction as it was decided."""
        self._call(self._core.end_transaction(decision))

    def recall(self, topic: str, handle: str) -> str:
        """Take back a delayed message that was not delivered yet; return its id.

        Args:
            topic: the message's topic.
            handle: `recall_handle` of its result.
        """
        return self._call(self._core.recall(topic, handle))

    def stats(self) -> ProducerStats:
        """Return what was done since the start, and what is under way."""
        return self._core.stats()

    def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that messages of a topic are sent to."""
        return self._call(self._core.queues(topic))
