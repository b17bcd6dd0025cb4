"""Offsets that brokers know of a queue, and where a group begins to read it."""

import logging
from datetime import datetime

from tailfin.client.consuming.offsets import OffsetStore
from tailfin.client.consuming.starting import Ask, ConsumeFrom, Place, Start, first_offset, search_time_ms
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.wire.bodies.stats import ConsumeStats
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.header import Header
from tailfin.wire.headers.admin import GetConsumeStatsRequestHeader
from tailfin.wire.headers.pull import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)

log = logging.getLogger("tailfin.client")


class Positions:
    """Asks brokers about the offsets of queues."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def first(self, queue: Queue) -> int:
        """Return the offset of the first message that is still there."""
        header = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker)
        return GetMinOffsetResponseHeader.decode(await self._ask(queue, Code.GET_MIN_OFFSET, header)).offset

    async def end(self, queue: Queue) -> int:
        """Return the offset after the last message."""
        header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker)
        return GetMaxOffsetResponseHeader.decode(await self._ask(queue, Code.GET_MAX_OFFSET, header)).offset

    async def at_time(self, queue: Queue, time_ms: int) -> int:
        """Return the offset of the first message that was stored at a time or later."""
        header = SearchOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=time_ms, bname=queue.broker
        )
        answer = await self._ask(queue, Code.SEARCH_OFFSET_BY_TIMESTAMP, header)
        return SearchOffsetResponseHeader.decode(answer).offset

    async def _ask(self, queue: Queue, code: Code, header: Header) -> dict[str, str]:
        _, address = self._network.master_or_slave(queue.broker)
        return (await self._network.call(address, code, header=header)).fields


class Beginnings:
    """Decides where a group begins to read a queue."""

    def __init__(
        self,
        network: Network,
        group: str,
        store: OffsetStore,
        positions: Positions,
        consume_from: ConsumeFrom,
    ) -> None:
        self._network = network
        self._group = group
        self._store = store
        self._positions = positions
        self._consume_from = consume_from

    async def of(self, queue: Queue, *, retry: bool = False, appeared: bool = False) -> tuple[int, bool]:
        """Return the offset to begin at, and whether it is a new one that nobody stored yet."""
        stored = await self._store.fetch(queue)
        certain = stored != 0 or self._consume_from == "first" or retry or await self._has_read(queue)
        start = first_offset(
            self._consume_from, Place(stored, certain=certain, retry=retry, appeared=appeared)
        )
        offset = await self._offset(queue, start)
        log.info(
            "group %s begins %s queue %d of %s at %d: %s",
            self._group,
            queue.topic,
            queue.queue_id,
            queue.broker,
            offset,
            start.why,
        )
        return offset, start.offset is None

    async def _offset(self, queue: Queue, start: Start) -> int:
        if start.offset is not None:
            return start.offset
        if start.ask is Ask.MIN:
            return await self._positions.first(queue)
        if isinstance(self._consume_from, datetime) and start.ask is Ask.TIME:
            return await self._positions.at_time(queue, search_time_ms(self._consume_from))
        return await self._positions.end(queue)

    async def _has_read(self, queue: Queue) -> bool:
        """Whether the group has any offset on the topic at this broker.

        Brokers before 5.0 answer 0 for a young queue that the group never read, so 0 alone says nothing.
        """
        header = GetConsumeStatsRequestHeader(consumer_group=self._group)
        try:
            address = self._network.address_of(queue.broker)
            answer = await self._network.call(address, Code.GET_CONSUME_STATS, header=header)
        except RemotingError as error:
            log.debug("%s does not say what group %s has read: %s", queue.broker, self._group, error)
            return True
        read = ConsumeStats.from_json(answer.body).offset_table
        return any(each.topic == queue.topic for each in read)
