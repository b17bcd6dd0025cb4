"""Messages read straight from queues: nobody's offset moves."""

import asyncio
import contextlib
import heapq
import itertools
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from tailfin.admin.errors import AdminError
from tailfin.admin.servers import Servers
from tailfin.admin.times import Target, milliseconds
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.pulling import Pulled, pull_once
from tailfin.client.consuming.subscriptions import Expression, subscription
from tailfin.client.errors import NoBroker, got_no_answer
from tailfin.client.queues import Queue
from tailfin.message import ReceivedMessage
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms

log = logging.getLogger("tailfin.client")

GROUP = "TOOLS_CONSUMER"
"""RocketMQ's own group for tools: every broker has it, and it keeps no offsets."""

PAGE = 32
HELD_S = 15.0
TRY_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a queue: from an offset to before another."""

    queue: Queue
    start: int
    end: int


class Reading:
    """Reads queues."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._positions = Positions(servers.network)

    async def pull(
        self, queue: Queue, offset: int, expression: Expression, *, limit: int = PAGE, hold: float = 0.0
    ) -> Pulled:
        """Read a few messages of a queue; `hold` is how many seconds to wait when there is none."""
        try:
            return await pull_once(
                self._servers.network,
                queue,
                group=GROUP,
                subscription=subscription(queue.topic, expression, now_ms()),
                offset=offset,
                limit=limit,
                hold=hold,
            )
        except RemotingError as error:
            if error.code != ResponseCode.NO_PERMISSION:
                raise
            raise AdminError(
                f"topic {queue.topic!r} may not be read on {queue.broker}: {error.remark}; "
                f"`tailfin topic update {queue.topic} --perm rw` allows it"
            ) from None

    async def stretches(
        self, topic: str, start: Target, end: Target, queues: Sequence[Queue] | None
    ) -> list[Stretch]:
        """Find the offsets of two times in the queues of a topic, or in some of them."""
        route = await self._servers.fresh_route(topic)
        wanted = route.subscribe if queues is None else queues
        unknown = {queue.broker for queue in wanted} - route.brokers.keys()
        if unknown:
            raise AdminError(
                f"topic {topic!r} is on {', '.join(route.brokers)}, not on {', '.join(sorted(unknown))}"
            )
        places = [(queue, target) for queue in wanted for target in (start, end)]
        offsets = await asyncio.gather(*(self.offset(*place) for place in places))
        pairs = zip(offsets[::2], offsets[1::2], strict=True)
        return [Stretch(queue, *pair) for queue, pair in zip(wanted, pairs, strict=True)]

    async def offset(self, queue: Queue, target: Target) -> int:
        """Return the offset of a place in a queue; one that nobody wrote to begins and ends at 0."""
        if target == "first":
            found = await self._positions.first(queue)
        elif target == "last":
            found = await self._positions.end(queue)
        else:
            found = await self._positions.at_time(queue, milliseconds(target))
        return max(found, 0)

    async def one_by_one(
        self, stretch: Stretch, expression: Expression
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of a part of a queue."""
        offset = stretch.start
        while offset < stretch.end:
            pulled = await self.pull(stretch.queue, offset, expression)
            for message in pulled.messages:
                if message.queue_offset >= stretch.end:
                    return
                yield message
            if pulled.next_offset <= offset:
                return
            offset = pulled.next_offset

    async def merged(
        self, stretches: Sequence[Stretch], expression: Expression
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of several queues in the order they were stored."""
        order = itertools.count()
        waiting: list[tuple[int, int, ReceivedMessage, AsyncGenerator[ReceivedMessage, None]]] = []
        sources = [self.one_by_one(stretch, expression) for stretch in stretches]

        async def advance(source: AsyncGenerator[ReceivedMessage, None]) -> None:
            with contextlib.suppress(StopAsyncIteration):
                message = await anext(source)
                heapq.heappush(waiting, (message.store_timestamp, next(order), message, source))

        try:
            for source in sources:
                await advance(source)
            while waiting:
                _, _, message, source = heapq.heappop(waiting)
                yield message
                await advance(source)
        finally:
            for source in sources:
                await source.aclose()

    async def endless(
        self, stretches: Sequence[Stretch], expression: Expression
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
        self, stretch: Stretch, expression: Expression, arrived: "asyncio.Queue[ReceivedMessage | Exception]"
    ) -> None:
        offset = stretch.start
        while True:
            try:
                pulled = await self.pull(stretch.queue, offset, expression, hold=HELD_S)
            except Exception as error:
                if not _may_pass(error):
                    await arrived.put(error)
                    return
                log.warning("%s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            for message in pulled.messages:
                await arrived.put(message)
            offset = pulled.next_offset


def _may_pass(error: Exception) -> bool:
    """Whether a broker may only be away for a while."""
    return isinstance(error, NoBroker) or (isinstance(error, RemotingError) and got_no_answer(error))
