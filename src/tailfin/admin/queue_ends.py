"""Offsets of a queue: its ends, and the one of a time."""

from tailfin.admin.servers import Servers
from tailfin.client.queues import Queue
from tailfin.wire.codes import Code
from tailfin.wire.headers.pull import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)


class QueueEnds:
    """Questions about a queue to the broker at an address; a queue nobody wrote to begins and ends at 0."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def first(self, queue: Queue, address: str) -> int:
        """Return the offset of the first message that is still stored."""
        header = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._servers.ask(address, Code.GET_MIN_OFFSET, header=header)
        return max(GetMinOffsetResponseHeader.decode(answer.fields).offset, 0)

    async def last(self, queue: Queue, address: str) -> int:
        """Return the offset that the next message will get."""
        header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._servers.ask(address, Code.GET_MAX_OFFSET, header=header)
        return max(GetMaxOffsetResponseHeader.decode(answer.fields).offset, 0)

    async def at_time(self, queue: Queue, address: str, milliseconds: int) -> int:
        """Return the offset of the first message stored at or after a time, or else the end."""
        header = SearchOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, timestamp=milliseconds)
        answer = await self._servers.ask(address, Code.SEARCH_OFFSET_BY_TIMESTAMP, header=header)
        return max(SearchOffsetResponseHeader.decode(answer.fields).offset, 0)
