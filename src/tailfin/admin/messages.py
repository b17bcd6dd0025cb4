"""Messages: find them, read queues, send them again, see who consumed them."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from tailfin.admin.connections import ASKED_OF_A_CLIENT_S, Connections
from tailfin.admin.errors import AdminError, NotFound
from tailfin.admin.offsets import Offsets
from tailfin.admin.reading import Reading, Stretch
from tailfin.admin.resending import Resending
from tailfin.admin.servers import Servers, each, name_of
from tailfin.admin.times import LATEST_MS, Moment, Target, milliseconds
from tailfin.admin.topics import Topics
from tailfin.admin.tracking import MessageTrack, judge
from tailfin.client.consuming.subscriptions import Expression
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult
from tailfin.message import ReceivedMessage, decode_message_id, decode_messages
from tailfin.wire.bodies.stats import ConsumeMessageDirectlyResult
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.admin import QueryMessageRequestHeader, ViewMessageRequestHeader
from tailfin.wire.headers.clients import ConsumeMessageDirectlyResultRequestHeader

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
FOUND_MAX = 64
_FOUND_OR_NOT = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)


class Messages:
    """What an operator does with messages: `AdminClient.messages`."""

    def __init__(
        self,
        servers: Servers,
        topics: Topics,
        connections: Connections,
        offsets: Offsets,
        reading: Reading,
        resending: Resending,
    ) -> None:
        self._servers = servers
        self._topics = topics
        self._connections = connections
        self._offsets = offsets
        self._reading = reading
        self._resending = resending

    async def find(self, topic: str, message_id: str) -> ReceivedMessage:
        """Return a message by either of its ids: the one a producer gave it, or the broker's.

        Args:
            topic: the topic it was sent to.
            message_id: `SendResult.message_id` or `SendResult.offset_message_id`.
        """
        found = await self.by_unique_key(topic, message_id)
        if found:
            return found[-1]
        try:
            return await self.by_id(message_id)
        except AdminError:
            raise NotFound(f"topic {topic!r} has no message {message_id}, or no longer") from None

    async def by_id(self, message_id: str) -> ReceivedMessage:
        """Return a message by the id its broker gave it (`SendResult.offset_message_id`)."""
        try:
            address, offset = decode_message_id(message_id)
        except ValueError as error:
            raise AdminError(f"{message_id!r} is no broker's message id: {error}") from None
        clusters = await self._servers.clusters()
        if not any(address in each.broker_addrs.values() for each in clusters.broker_addr_table.values()):
            raise NotFound(
                f"message id {message_id} names broker {address}, which this cluster does not have; "
                "if a producer gave the id, look for it in its topic: `tailfin message show TOPIC ID`"
            )
        header = ViewMessageRequestHeader(offset=offset)
        answer = await self._servers.ask(
            address,
            Code.VIEW_MESSAGE_BY_ID,
            header=header,
            accept=(ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR),
        )
        if answer.code != ResponseCode.SUCCESS:
            raise NotFound(f"broker {address} has no message {message_id}, or no longer: {answer.remark}")
        return decode_messages(answer.body, broker=name_of(clusters, address))[0]

    async def by_unique_key(self, topic: str, unique_key: str) -> tuple[ReceivedMessage, ...]:
        """Return the messages with an id that a producer gave (`SendResult.message_id`), oldest first.

        There are several when a producer sent one again, or a consumer handed it back.
        """
        found = await self._query(topic, unique_key, 0, LATEST_MS, FOUND_MAX, unique=True)
        return tuple(message for message in found if message.message_id == unique_key)

    async def by_key(
        self,
        topic: str,
        key: str,
        *,
        begin: Moment | None = None,
        end: Moment | None = None,
        limit: int = FOUND_MAX,
    ) -> tuple[ReceivedMessage, ...]:
        """Return messages by one of their keys, oldest first.

        Args:
            topic: the topic.
            key: the key.
            begin: stored at or after this time.
            end: stored at or before this time.
            limit: at most so many of each broker, the newest; a broker gives at most 64.
        """
        first = 0 if begin is None else milliseconds(begin)
        last = LATEST_MS if end is None else milliseconds(end)
        found = await self._query(topic, key, first, last, limit, unique=False)
        return tuple(message for message in found if key in message.keys)

    async def _query(
        self, topic: str, key: str, begin: int, end: int, limit: int, *, unique: bool
    ) -> list[ReceivedMessage]:
        header = QueryMessageRequestHeader(
            topic=topic, key=key, max_num=limit, begin_timestamp=begin, end_timestamp=end
        )
        fields = {UNIQUE_KEY_QUERY: "true"} if unique else None
        answers = await each(
            await self._servers.nearest_of(topic),
            lambda address: self._servers.ask(
                address, Code.QUERY_MESSAGE, header=header, fields=fields, accept=_FOUND_OR_NOT
            ),
        )
        # A key is looked up by its hash: messages of other topics may share it.
        found = [
            message
            for broker, answer in answers.items()
            for message in decode_messages(answer.body, broker=broker)
            if message.stored_topic == topic
        ]
        return sorted(found, key=lambda message: message.store_timestamp)

    async def by_offset(self, queue: Queue, offset: int) -> ReceivedMessage:
        """Return the message at an offset of a queue."""
        (stretch,) = await self._reading.stretches(queue.topic, "first", "last", [queue])
        pulled = await self._reading.pull(queue, offset, "*", limit=1)
        if not pulled.messages or pulled.messages[0].queue_offset != offset:
            holds = (
                f"holds {stretch.start} to {stretch.end - 1}" if stretch.end > stretch.start else "is empty"
            )
            raise NotFound(
                f"queue {queue.queue_id} of topic {queue.topic!r} on {queue.broker} {holds}: "
                f"there is no message at {offset}"
            )
        return pulled.messages[0]

    async def read(
        self,
        topic: str,
        *,
        start: Target = "first",
        end: Target = "last",
        queues: Sequence[Queue] | None = None,
        expression: Expression = "*",
        limit: int | None = None,
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of a topic in the order they were stored; nobody's offset moves.

        Args:
            topic: the topic.
            start: `"first"`, `"last"`, or a time.
            end: until here, and no further: what is stored while this runs is left out.
            queues: of these queues only.
            expression: tags joined by `||`, or a `tailfin.Sql`.
            limit: at most so many.

        Example:
            ```python
            for message in admin.messages.read("orders", start=datetime(2026, 1, 31), limit=10):
                print(message.body)
            ```
        """
        stretches = await self._reading.stretches(topic, start, end, queues)
        left = itertools.count(1)
        async with aclosing(self._reading.merged(stretches, expression)) as found:
            async for message in found:
                yield message
                if next(left) == limit:
                    return

    async def read_queue(
        self, queue: Queue, start: int, end: int | None = None, *, expression: Expression = "*"
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of one queue between two offsets; nobody's offset moves.

        Args:
            queue: the queue.
            start: the first offset.
            end: the offset to end before; without it the end of the queue.
            expression: tags joined by `||`, or a `tailfin.Sql`.
        """
        (whole,) = await self._reading.stretches(queue.topic, "first", "last", [queue])
        last = whole.end if end is None else min(end, whole.end)
        stretch = Stretch(queue, max(start, whole.start), last)
        async with aclosing(self._reading.one_by_one(stretch, expression)) as found:
            async for message in found:
                yield message

    async def follow(
        self,
        topic: str,
        *,
        start: Target = "last",
        queues: Sequence[Queue] | None = None,
        expression: Expression = "*",
    ) -> AsyncGenerator[ReceivedMessage, None]:
        """Yield the messages of a topic as they come, without end; nobody's offset moves.

        Args:
            topic: the topic.
            start: `"first"`, `"last"`, or a time.
            queues: of these queues only.
            expression: tags joined by `||`, or a `tailfin.Sql`.
        """
        stretches = await self._reading.stretches(topic, start, "last", queues)
        async with aclosing(self._reading.endless(stretches, expression)) as found:
            async for message in found:
                yield message

    async def resend(self, message: ReceivedMessage) -> SendResult:
        """Send a copy of a message to its topic; every group that reads the topic gets it."""
        return await self._resending.send(message, message.stored_topic)

    async def consume_directly(
        self, message: ReceivedMessage, group: str, client_id: str
    ) -> ConsumeMessageDirectlyResult:
        """Have a connected consumer consume a message now; its offset does not move.

        Args:
            message: the message.
            group: the consumer's group.
            client_id: its id, as `connections.consumers` returns it.
        """
        header = ConsumeMessageDirectlyResultRequestHeader(
            consumer_group=group,
            client_id=client_id,
            msg_id=message.offset_message_id,
            topic=message.stored_topic,
        )
        answer = await self._servers.ask(
            message.store_host, Code.CONSUME_MESSAGE_DIRECTLY, header=header, timeout=ASKED_OF_A_CLIENT_S
        )
        return ConsumeMessageDirectlyResult.from_json(answer.body)

    async def track(self, message: ReceivedMessage) -> tuple[MessageTrack, ...]:
        """Say of every group that reads the message's topic whether it consumed the message."""
        groups = await self._topics.groups(message.stored_topic)
        return tuple(await asyncio.gather(*(self._track(message, group) for group in groups)))

    async def _track(self, message: ReceivedMessage, group: str) -> MessageTrack:
        members, progress = await asyncio.gather(
            self._connections.consumers(group), self._offsets.progress(group, message.stored_topic)
        )
        return judge(message.queue, message.queue_offset, message.tags, members, progress.queues)
