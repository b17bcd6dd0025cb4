"""The pull consumer: one queue, one offset, one answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Self, Unpack

from tailfin._engine import ReceivedMessage
from tailfin.client.checking import check_group
from tailfin.client.consuming.hooking import keeping
from tailfin.client.consuming.offsets import RemoteOffsets
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.pulling import pull_once
from tailfin.client.consuming.starting import search_time_ms
from tailfin.client.consuming.subscriptions import Expression, subscription
from tailfin.client.errors import ClientError, ClientStopped
from tailfin.client.hooks import overriding
from tailfin.client.keywords import shared_out
from tailfin.client.names import unwrap, wrap
from tailfin.client.network import Network
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.queues import Queue
from tailfin.wire.codes import ResponseCode
from tailfin.wire.header import now_ms


class PullStatus(Enum):
    """How a pull ended."""

    FOUND = "FOUND"
    """There are messages."""
    NO_NEW_MESSAGE = "NO_NEW_MESSAGE"
    """The offset is the end of the queue."""
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    """What is there does not match the expression; go on from `next_offset`."""
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"
    """The queue has no such offset; `next_offset` is one that it has."""


@dataclass(frozen=True, slots=True)
class PullResult:
    """What a pull brought.

    Attributes:
        status: how it ended.
        messages: what was found, in order.
        next_offset: where to go on.
        min_offset: the queue's first offset.
        max_offset: the offset after the queue's last message.
    """

    status: PullStatus
    messages: list[ReceivedMessage]
    next_offset: int
    min_offset: int
    max_offset: int


_STATUS: Mapping[int, PullStatus] = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MESSAGE,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MESSAGE,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


class PullConsumer:
    """Reads single queues from given offsets; nothing is decided for the caller, and nothing read ahead.

    Args:
        group: name of the consumer group, under which offsets are committed.
        **options: see `ClientOptions`.

    Example:
        ```python
        async with tailfin.aio.PullConsumer("audit", nameserver="127.0.0.1:9876") as consumer:
            for queue in await consumer.queues("orders"):
                result = await consumer.pull(queue, await consumer.first_offset(queue))
        ```
    """

    def __init__(self, group: str, **options: Unpack[ClientKeywords]) -> None:
        check_group(group)
        self._options = ClientOptions(**shared_out(options, ClientOptions)[0])
        self._options.nameservers()
        self._group = wrap(self._options.namespace, group)
        self._keep = keeping(overriding(self._options.hooks, "keep"), self._group)
        self._network: Network | None = None

    async def start(self) -> None:
        """Begin; `async with` does it."""
        if self._network is not None:
            raise ClientError("the consumer is running already")
        network = Network(self._options)
        await network.start()
        self._network = network

    async def stop(self) -> None:
        """Close every connection; `async with` does it."""
        network, self._network = self._network, None
        if network is not None:
            await network.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    async def queues(self, topic: str) -> list[Queue]:
        """Return the queues of a topic, sorted.

        Raises:
            NoRoute: the topic does not exist.
        """
        found = await self._running().subscribe_queues(wrap(self._options.namespace, topic))
        return sorted(queue._replace(topic=unwrap(self._options.namespace, queue.topic)) for queue in found)

    async def pull(
        self, queue: Queue, offset: int, limit: int = 32, expression: Expression = "*", *, hold: float = 0.0
    ) -> PullResult:
        """Ask a queue for messages.

        Args:
            queue: which one.
            offset: from where on.
            limit: how many messages at most.
            expression: `"*"`, tags, or an `Sql`.
            hold: seconds that the broker may wait for a message when there is none.

        Raises:
            RemotingError: the broker refuses, or does not answer.
        """
        if offset < 0 or limit < 1:
            raise ValueError(f"an offset of 0 or more and a limit of 1 or more, not {offset} and {limit}")
        wrapped = await self._known(queue)
        wanted = subscription(wrapped.topic, expression, now_ms())
        pulled = await pull_once(
            self._running(),
            wrapped,
            group=self._group,
            subscription=wanted,
            offset=offset,
            limit=limit,
            hold=hold,
        )
        messages = pulled.messages if self._keep is None else list(filter(self._keep, pulled.messages))
        return PullResult(
            _STATUS[pulled.code], messages, pulled.next_offset, pulled.min_offset, pulled.max_offset
        )

    async def committed(self, queue: Queue) -> int | None:
        """Return the group's offset of a queue; None: it has none."""
        return await RemoteOffsets(self._running(), self._group).fetch(await self._known(queue))

    async def commit(self, queue: Queue, offset: int) -> None:
        """Set the group's offset of a queue."""
        await RemoteOffsets(self._running(), self._group).tell(await self._known(queue), offset)

    async def first_offset(self, queue: Queue) -> int:
        """Return the offset of a queue's first message."""
        return await Positions(self._running()).first(await self._known(queue))

    async def end_offset(self, queue: Queue) -> int:
        """Return the offset after a queue's last message."""
        return await Positions(self._running()).end(await self._known(queue))

    async def offset_at(self, queue: Queue, moment: datetime) -> int:
        """Return the offset of a queue's first message that was stored at a time or later."""
        return await Positions(self._running()).at_time(await self._known(queue), search_time_ms(moment))

    async def _known(self, queue: Queue) -> Queue:
        """Return a queue as brokers know it, once its broker's address is known."""
        wrapped = Queue(wrap(self._options.namespace, queue[0]), queue[1], queue[2])
        await self._running().route(wrapped.topic)
        return wrapped

    def _running(self) -> Network:
        if self._network is None:
            raise ClientStopped("the consumer is not running: call start(), or use it in a `with` block")
        return self._network
