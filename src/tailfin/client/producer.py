"""The producer on asyncio."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Self, Unpack

from tailfin.client import names
from tailfin.client.checking import check_group
from tailfin.client.errors import ClientStopped, NoBroker, SendFailed, SendTimeout
from tailfin.client.letters import Letter, Letters, Select, Target
from tailfin.client.messages import Message
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerKeywords, split_keywords
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult, SendStatus
from tailfin.client.retrying import Ended, Try
from tailfin.client.routes import Route
from tailfin.client.sending import Reply, send_once
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import ProducerData
from tailfin.wire.codes import ResponseCode


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
        self._network: Network
        self._letters: Letters
        self._is_running = False
        self._under_way = 0
        self._at_rest = asyncio.Event()

    # Life

    async def start(self) -> None:
        """Begin; `async with` does it."""
        if self._is_running:
            return
        self._network = Network(self._client_options)
        self._letters = Letters(self._network, self.group, self._options, self._client_options.hooks)
        await self._network.start()
        self._network.join(self)
        self._is_running = True

    async def stop(self) -> None:
        """Wait for what is under way, up to `stop_timeout`, say goodbye and close; `async with` does it."""
        if not self._is_running:
            return
        self._is_running = False
        self._at_rest.clear()
        if self._under_way:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._client_options.stop_timeout):
                    await self._at_rest.wait()
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
        return (await self._deliver(letter))[0]

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
        await self._deliver(letter, oneway=True)

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
        """
        results: list[SendResult] = []
        for letter in self._running().write_batch(messages, Target(queue, sharding_key, select, timeout)):
            try:
                results += await self._deliver(letter)
            except SendFailed as error:
                error.results = tuple(results)
                raise
        return results

    async def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that messages of a topic are sent to."""
        letters = self._running()
        wire_topic = names.wrap(self._client_options.namespace, topic)
        await self._route(wire_topic)
        return tuple(letters.user_queue(*each) for each in letters.queues(wire_topic))

    # A member of the network

    @property
    def handlers(self) -> Mapping[int, Handler]:
        """What it does with brokers' requests."""
        return {}

    def heartbeat(self) -> ProducerData:
        """Return what brokers are told about it."""
        return ProducerData(group_name=self.group)

    def route_changed(self, route: Route) -> None:
        """Hear of a topic's first or changed route."""

    # How it is done

    def _running(self) -> Letters:
        if not self._is_running:
            raise ClientStopped("the producer is not running: call start(), or use it in a `with` block")
        return self._letters

    async def _route(self, topic: str) -> Route:
        return await self._network.publish_route(topic, queue_count=self._options.default_queues)

    async def _deliver(self, letter: Letter, *, oneway: bool = False) -> list[SendResult]:
        async with self._counted():
            try:
                results = await self._tried_until_stored(letter, oneway=oneway)
            except BaseException as error:
                self._letters.lost(letter, error)
                raise
            self._letters.arrived(letter, results)
            return results

    async def _tried_until_stored(self, letter: Letter, *, oneway: bool) -> list[SendResult]:
        began = time.monotonic()
        try:
            async with asyncio.timeout(letter.seconds):
                await self._route(letter.topic)
        except TimeoutError:
            text = f"topic {letter.topic!r}: no name server said within {letter.seconds:g} s where it is"
            raise SendTimeout(text, code=ResponseCode.RPC_TIME_OUT, tries=0) from None
        flow = letter.flow(began)
        made = next(flow)
        while True:
            began = time.monotonic()
            reply = await self._try(letter, made, oneway=oneway)
            ended = Ended(reply.code, reply.remark, time.monotonic())
            self._letters.tried(letter, made, ended, began)
            try:
                made = flow.send(ended)
            except StopIteration:
                return self._results(letter, made, reply)
            self._letters.counts.retried += 1

    async def _try(self, letter: Letter, made: Try, *, oneway: bool) -> Reply:
        try:
            address = self._network.address_of(made.queue.broker)
        except NoBroker as error:
            return Reply(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, str(error), [])
        return await send_once(
            self._network,
            self.group,
            self._options,
            letter.messages,
            made.queue,
            address,
            made.seconds,
            oneway=oneway,
        )

    def _results(self, letter: Letter, made: Try, reply: Reply) -> list[SendResult]:
        fields = reply.fields
        queue = self._letters.user_queue(
            letter.topic, made.queue.broker, int(fields.get("queueId", made.queue.queue_id))
        )
        stored = fields.get("msgId", "").split(",")
        return [
            SendResult(
                SendStatus(reply.code),
                message_id,
                stored[place] if place < len(stored) else "",
                queue,
                int(fields.get("queueOffset", -1)) + place,
                fields.get("transactionId"),
                fields.get("MSG_REGION", "DefaultRegion"),
                fields.get("TRACE_ON") != "false",
                fields.get("recallHandle"),
            )
            for place, message_id in enumerate(reply.message_ids)
        ]

    @contextlib.asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._at_rest.set()
