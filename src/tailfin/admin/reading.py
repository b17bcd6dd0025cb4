"""Messages read straight from queues: nobody's offset moves."""

import asyncio
import contextlib
import heapq
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass

from tailfin.admin.errors import AdminError
from tailfin.admin.queue_ends import QueueEnds
from tailfin.admin.servers import Servers
from tailfin.admin.times import Target, milliseconds
from tailfin.client.errors import got_no_answer
from tailfin.client.queues import Queue
from tailfin.client.routes import read_route
from tailfin.message import ReceivedMessage, decode_messages
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

log = logging.getLogger("tailfin.client")

GROUP = "TOOLS_CONSUMER"
"""RocketMQ's own group for tools: every broker has it, and it keeps no offsets."""

PAGE = 32
HELD_S = 15.0
TRY_AGAIN_S = 1.0
MAY_WAIT, BRINGS_SUBSCRIPTION = 2, 4
_ANSWERED = (
    ResponseCode.SUCCESS,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull found.

    Attributes:
        messages: messages, in order.
        next_offset: where to go on.
        at_end: there was nothing behind the offset.
    """

    messages: tuple[ReceivedMessage, ...]
    next_offset: int
    at_end: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a queue: from an offset to before another."""

    queue: Queue
    address: str
    start: int
    end: int


class Reading:
    """Reads queues."""

    def __init__(self, servers: Servers, queue_ends: QueueEnds) -> None:
        self._servers = servers
        self._queue_ends = queue_ends

    async def pull(
        self,
        queue: Queue,
        address: str,
        offset: int,
        *,
        limit: int = PAGE,
        expression: str = "*",
        held: float = 0.0,
    ) -> Pulled:
        """Read a few messages of a queue.

        Args:
            queue: the queue.
            address: the broker's.
            offset: from here on.
            limit: at most so many.
            expression: tags joined by `||`, or `*`.
            held: seconds to wait for a message when there is none.
        """
        header = PullMessageRequestHeader(
            consumer_group=GROUP,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=limit,
            sys_flag=BRINGS_SUBSCRIPTION | (MAY_WAIT if held else 0),
            commit_offset=0,
            suspend_timeout_millis=round(held * 1000),
            subscription=expression,
            sub_version=0,
            expression_type="TAG",
        )
        try:
            answer = await self._servers.ask(
                address,
                Code.PULL_MESSAGE,
                header=header,
                accept=_ANSWERED,
                timeout=self._servers.timeout + held,
            )
        except RemotingError as error:
            if error.code != ResponseCode.NO_PERMISSION:
                raise
            raise AdminError(
                f"topic {queue.topic!r} may not be read on {queue.broker}: {error.remark}; "
                f"`tailfin topic update {queue.topic} --perm rw` allows it"
            ) from None
        found = PullMessageResponseHeader.decode(answer.fields)
        # Brokers compare hashes of tags: two tags may share one.
        messages = decode_messages(answer.body, broker=queue.broker, tags=tags(expression))
        return Pulled(tuple(messages), found.next_begin_offset, answer.code == ResponseCode.PULL_NOT_FOUND)

    async def stretches(
        self, topic: str, start: Target, end: Target, queues: Sequence[Queue] | None
    ) -> list[Stretch]:
        """Find the offsets of two times in the queues of a topic, or in some of them."""
        route = await self._servers.route(topic)
        addresses = await self._servers.nearest_of(topic)
        wanted = read_route(topic, route).subscribe if queues is None else queues
        unknown = {queue.broker for queue in wanted} - addresses.keys()
        if unknown:
            raise AdminError(
                f"topic {topic!r} is on {', '.join(addresses)}, not on {', '.join(sorted(unknown))}"
            )
        offsets = await asyncio.gather(
            *(
                self._offset(queue, addresses[queue.broker], target)
                for queue in wanted
                for target in (start, end)
            )
        )
        pairs = zip(offsets[::2], offsets[1::2], strict=True)
        return [
            Stretch(queue, addresses[queue.broker], first, last)
            for queue, (first, last) in zip(wanted, pairs, strict=True)
        ]

    async def _offset(self, queue: Queue, address: str, target: Target) -> int:
        if target == "first":
            return await self._queue_ends.first(queue, address)
        if target == "last":
            return await self._queue_ends.last(queue, address)
        return await self._queue_ends.at_time(queue, address, milliseconds(target))

    async def one_by_one(self, stretch: Stretch, expression: str) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of a part of a queue."""
        offset = stretch.start
        while offset < stretch.end:
            pulled = await self.pull(stretch.queue, stretch.address, offset, expression=expression)
            for message in pulled.messages:
                if message.queue_offset >= stretch.end:
                    return
                yield message
            if pulled.at_end or pulled.next_offset <= offset:
                return
            offset = pulled.next_offset

    async def merged(
        self, stretches: Sequence[Stretch], expression: str
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of several queues in the order they were stored."""
        order = itertools.count()
        waiting: list[tuple[int, int, ReceivedMessage, AsyncIterator[ReceivedMessage]]] = []

        async def advance(source: AsyncIterator[ReceivedMessage]) -> None:
            with contextlib.suppress(StopAsyncIteration):
                message = await anext(source)
                heapq.heappush(waiting, (message.store_timestamp, next(order), message, source))

        for stretch in stretches:
            await advance(self.one_by_one(stretch, expression))
        while waiting:
            _, _, message, source = heapq.heappop(waiting)
            yield message
            await advance(source)

    async def endless(
        self, stretches: Sequence[Stretch], expression: str
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of several queues as they come."""
        arrived: asyncio.Queue[ReceivedMessage | Exception] = asyncio.Queue(maxsize=PAGE)
        watching = [asyncio.create_task(self._watch(each, expression, arrived)) for each in stretches]
        try:
            while True:
                found = await arrived.get()
                if isinstance(found, Exception):
                    raise found
                yield found
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

    async def _watch(
        self, stretch: Stretch, expression: str, arrived: "asyncio.Queue[ReceivedMessage | Exception]"
    ) -> None:
        offset = stretch.start
        while True:
            try:
                pulled = await self.pull(
                    stretch.queue, stretch.address, offset, expression=expression, held=HELD_S
                )
            except RemotingError as error:
                if not got_no_answer(error):
                    await arrived.put(error)
                    return
                log.warning("%s; trying again", error.remark)
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            except AdminError as error:
                await arrived.put(error)
                return
            for message in pulled.messages:
                await arrived.put(message)
            offset = pulled.next_offset


def tags(expression: str) -> list[str] | None:
    """Return the tags of an expression; None: all messages."""
    words = {word.strip() for word in expression.split("||")} - {""}
    return None if not words or "*" in words else sorted(words)
