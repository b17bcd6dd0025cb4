"""Dead letters: messages that a group could not consume, however often it tried."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from tailfin.admin.errors import NotFound
from tailfin.admin.messages import Messages
from tailfin.admin.resending import Resending
from tailfin.admin.servers import Servers
from tailfin.admin.times import Target
from tailfin.admin.topics import Topics
from tailfin.broker.names import DLQ_PREFIX, dead_letter_topic, retry_topic
from tailfin.client.results import SendResult
from tailfin.message import ReceivedMessage

RETRY_TOPIC = "RETRY_TOPIC"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"


class DeadLetters:
    """What an operator does with dead letters: `AdminClient.dead_letters`."""

    def __init__(self, servers: Servers, topics: Topics, messages: Messages, resending: Resending) -> None:
        self._servers = servers
        self._topics = topics
        self._messages = messages
        self._resending = resending

    async def groups(self) -> dict[str, int]:
        """Return the groups that have dead letters, and how many of each are stored."""
        names = await self._topics.list(everything=True)
        groups = [name.removeprefix(DLQ_PREFIX) for name in names if name.startswith(DLQ_PREFIX)]
        return {group: (await self._topics.status(dead_letter_topic(group))).messages for group in groups}

    async def list(
        self, group: str, *, start: Target = "first", end: Target = "last", limit: int | None = None
    ) -> tuple[ReceivedMessage, ...]:
        """Return the dead letters of a group, oldest first; none when it never had any.

        Args:
            group: its name.
            start: those that died at or after this time.
            end: those that died before this time.
            limit: at most so many.
        """
        return tuple([each async for each in self._read(group, start, end, limit)])

    async def show(self, group: str, message_id: str) -> ReceivedMessage:
        """Return one dead letter of a group by its id: the producer's, or the dead letter's own."""
        if await self._servers.find_route(dead_letter_topic(group)) is None:
            raise NotFound(f"group {group!r} has no dead letters")
        return await self._messages.find(dead_letter_topic(group), message_id)

    async def resend(self, group: str, message_id: str) -> SendResult:
        """Have a group consume one of its dead letters again.

        A copy goes to the group's retry topic, so no other group gets it, and its attempts count from 0.
        The dead letter itself stays until it expires.

        Args:
            group: its name.
            message_id: the dead letter's id: the producer's, or its own.
        """
        return await self._resend(group, await self.show(group, message_id))

    async def resend_all(
        self, group: str, *, start: Target = "first", end: Target = "last", limit: int | None = None
    ) -> int:
        """Have a group consume its dead letters again; return how many were sent.

        Dead letters stay until they expire: give the time of the last `resend_all` as `start`, or they are
        sent once more.

        Args:
            group: its name.
            start: those that died at or after this time.
            end: those that died before this time.
            limit: at most so many.
        """
        count = 0
        async with aclosing(self._read(group, start, end, limit)) as found:
            async for message in found:
                await self._resend(group, message)
                count += 1
        return count

    async def _read(
        self, group: str, start: Target, end: Target, limit: int | None
    ) -> AsyncGenerator[ReceivedMessage, None]:
        topic = dead_letter_topic(group)
        if await self._servers.find_route(topic) is None:
            return
        async with aclosing(self._messages.read(topic, start=start, end=end, limit=limit)) as found:
            async for message in found:
                yield message

    async def _resend(self, group: str, message: ReceivedMessage) -> SendResult:
        # Consumers show a message of the retry topic under the topic it was sent to.
        further = {
            name: value
            for name in (RETRY_TOPIC, ORIGIN_MESSAGE_ID)
            if (value := message.property(name)) is not None
        }
        return await self._resending.send(message, retry_topic(group), further)
