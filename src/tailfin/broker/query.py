"""Questions about single messages and queues: by key, by id, by time, and consumer offsets."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailfin.message import Message
from tailfin.remoting import Request, Response, handles
from tailfin.store import StoreDamaged
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.header import BoundaryType
from tailfin.wire.headers.admin import (
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from tailfin.wire.headers.pull import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
BY_TAG = "T"
INDEX_TYPES = ("K", "U", BY_TAG)
"""Keys, the unique key (which stands among the keys), tags."""
HEADER_ROOM = 1024
"""What the header of an answer takes of its frame, and more."""
MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class Queries:
    """Handlers of questions that read the store."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.QUERY_MESSAGE)
    def by_key(self, request: Request) -> Response:
        """Find messages by a key, or by the unique key that clients call message id."""
        header = QueryMessageRequestHeader.decode(request.fields)
        limit = header.max_num
        if request.fields.get(UNIQUE_KEY_QUERY, "").lower() == "true":
            limit = self._broker.config.defaultQueryMaxNum
        elif header.index_type not in (None, "", *INDEX_TYPES):
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"indexType {header.index_type!r} is none of {', '.join(INDEX_TYPES)}",
            )
        found = self._broker.store.query(
            header.topic,
            header.key,
            begin=max(header.begin_timestamp, 0),
            end=header.end_timestamp,
            limit=max(limit, 0),
            by_tags=header.index_type == BY_TAG,
        )
        if not found:
            raise RemotingError(
                ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct"
            )
        found = list(_fitting(found, self._broker.settings.server.frameMaxLength - HEADER_ROOM))
        newest, its_offset = self._broker.store.index_end()
        answer = QueryMessageResponseHeader(
            index_last_update_timestamp=newest, index_last_update_phyoffset=its_offset
        )
        # The newest are found first, and sent in the order of the log.
        return Response(fields=answer.encode(), body=b"".join(message.raw for message in reversed(found)))

    @handles(Code.VIEW_MESSAGE_BY_ID)
    def by_id(self, request: Request) -> Response:
        """Return the message at a place in the log."""
        header = ViewMessageRequestHeader.decode(request.fields)
        message = self._broker.store.message_at(header.offset) if header.offset >= 0 else None
        if message is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {header.offset}"
            )
        return Response(body=message.raw)

    @handles(Code.GET_MAX_OFFSET)
    def max_offset(self, request: Request) -> Response:
        """Return the end of a queue."""
        header = GetMaxOffsetRequestHeader.decode(request.fields)
        end = self._broker.store.max_offset(header.topic, header.queue_id)
        return Response(fields=GetMaxOffsetResponseHeader(offset=end).encode())

    @handles(Code.GET_MIN_OFFSET)
    def min_offset(self, request: Request) -> Response:
        """Return the start of a queue."""
        header = GetMinOffsetRequestHeader.decode(request.fields)
        start = self._broker.store.min_offset(header.topic, header.queue_id)
        return Response(fields=GetMinOffsetResponseHeader(offset=start).encode())

    @handles(Code.SEARCH_OFFSET_BY_TIMESTAMP)
    def offset_at_time(self, request: Request) -> Response:
        """Return the offset of a time in a queue."""
        header = SearchOffsetRequestHeader.decode(request.fields)
        upper = header.boundary_type is BoundaryType.UPPER
        found = self._broker.store.offset_at_time(
            header.topic, header.queue_id, header.timestamp, upper=upper
        )
        return Response(fields=SearchOffsetResponseHeader(offset=found).encode())

    @handles(Code.GET_EARLIEST_MSG_STORETIME)
    def earliest(self, request: Request) -> Response:
        """Return when the first message of a queue was stored; -1 when it has none."""
        header = GetEarliestMsgStoretimeRequestHeader.decode(request.fields)
        when = self.store_time(header.topic, header.queue_id, None)
        return Response(fields=GetEarliestMsgStoretimeResponseHeader(timestamp=when or -1).encode())

    def store_time(self, topic: str, queue_id: int, offset: int | None) -> int | None:
        """Return when the message at an offset was stored, None when there is no such message."""
        store = self._broker.store
        at = store.min_offset(topic, queue_id) if offset is None else offset
        if at < 0 or at >= store.max_offset(topic, queue_id):
            return None
        units = store.queue_units(topic, queue_id, at, 1)
        return self.store_time_at(units[0][0]) if units else None

    def store_time_at(self, physical_offset: int) -> int | None:
        """Return when the message at a place in the log was stored, None when none can be read there."""
        try:
            message = self._broker.store.message_at(physical_offset)
        except StoreDamaged:
            return None
        return message.store_timestamp if message else None

    @handles(Code.QUERY_CONSUMER_OFFSET)
    def consumer_offset(self, request: Request) -> Response:
        """Return where a group is in a queue."""
        header = QueryConsumerOffsetRequestHeader.decode(request.fields)
        offset = self._broker.offsets.get(header.consumer_group, header.topic, header.queue_id)
        if offset is None:
            if header.set_zero_if_not_found is False or not self._begins_in_memory(
                header.topic, header.queue_id
            ):
                raise RemotingError(
                    ResponseCode.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first"
                )
            offset = 0
        return Response(fields=QueryConsumerOffsetResponseHeader(offset=offset).encode())

    def _begins_in_memory(self, topic: str, queue_id: int) -> bool:
        """Whether a new group can be sent to a queue's first message without reading from disk."""
        store = self._broker.store
        if not store.min_offset(topic, queue_id) <= 0 < store.max_offset(topic, queue_id):
            return False
        units = store.queue_units(topic, queue_id, 0, 1)
        held = MEMORY_BYTES // 100 * store.config.accessMessageInMemoryMaxRatio
        return bool(units) and units[0][0] >= store.max_physical_offset - held

    @handles(Code.UPDATE_CONSUMER_OFFSET)
    def commit(self, request: Request) -> Response:
        """Set where a group is in a queue."""
        header = UpdateConsumerOffsetRequestHeader.decode(request.fields)
        self._group(header.consumer_group)
        if header.topic not in self._broker.topics:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} not exist!{FAQ}")
        self._broker.offsets.commit(
            header.consumer_group, header.topic, header.queue_id, header.commit_offset
        )
        return Response()

    def _group(self, name: str) -> SubscriptionGroupConfig:
        group = self._broker.groups.find(name)
        if group is None:
            raise RemotingError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {name} not exist!{FAQ}")
        return group


def _fitting(found: list[Message], bytes_max: int) -> Iterator[Message]:
    """Yield the newest messages that fit into one answer; one too long for any is refused as such."""
    taken = 0
    for message in found:
        taken += len(message.raw)
        if taken > bytes_max and message is not found[0]:
            return
        yield message
