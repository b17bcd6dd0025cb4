"""How far groups are, and how to send them elsewhere."""

import asyncio
from collections.abc import Sequence

from tailfin.admin.connections import Connections
from tailfin.admin.errors import AdminError, NotFound
from tailfin.admin.groups import Groups
from tailfin.admin.progress import GroupProgress, OffsetChange, progress
from tailfin.admin.reading import Reading
from tailfin.admin.servers import Servers, each
from tailfin.admin.times import Target, milliseconds
from tailfin.broker.names import retry_topic
from tailfin.client.queues import Queue
from tailfin.config import properties
from tailfin.wire.bodies.stats import ConsumeStats
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.admin import GetConsumeStatsRequestHeader
from tailfin.wire.headers.clients import ResetOffsetRequestHeader
from tailfin.wire.headers.pull import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)

ENDS_MS = {"first": 0, "last": -1}
"""How a time in a request says an end."""

_FOUND_OR_NOT = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)


class Offsets:
    """What an operator does with offsets of groups: `AdminClient.offsets`."""

    def __init__(self, servers: Servers, groups: Groups, connections: Connections, reading: Reading) -> None:
        self._servers = servers
        self._groups = groups
        self._connections = connections
        self._reading = reading

    async def progress(self, group: str, topic: str | None = None, *, owners: bool = False) -> GroupProgress:
        """Return how far a group is in each queue it reads.

        Args:
            group: its name.
            topic: only in this topic.
            owners: ask the members which of them reads which queue.

        Example:
            ```python
            for queue in admin.offsets.progress("billing").queues:
                print(queue.queue, queue.lag)
            ```
        """
        targets = await (self._servers.nearest_of(topic) if topic else self._servers.nearest())
        header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
        answers = await each(
            targets, lambda address: self._servers.ask(address, Code.GET_CONSUME_STATS, header=header)
        )
        tables = [ConsumeStats.from_json(answer.body) for answer in answers.values()]
        if not any(table.offset_table for table in tables):
            await self._groups.config(group)
        return progress(group, tables, await self._owners(group) if owners else {})

    async def _owners(self, group: str) -> dict[Queue, str]:
        infos = await self._connections.running_infos(group)
        return {
            Queue.of_body(queue): client_id
            for client_id, info in infos.items()
            for queue in (*info.mq_table, *info.mq_pop_table)
        }

    async def find(self, queue: Queue, place: Target) -> int:
        """Return the offset of a place in a queue.

        Args:
            queue: the queue.
            place: `"first"`: the first message that is still stored; `"last"`: the offset that the next
                message will get; or a time: the first message stored at it or later.

        Example:
            ```python
            admin.offsets.find(tailfin.Queue("orders", "broker-a", 0), datetime(2026, 1, 31))
            ```
        """
        if queue.broker not in (await self._servers.fresh_route(queue.topic)).brokers:
            raise NotFound(f"topic {queue.topic!r} is not on a broker {queue.broker!r}")
        return await self._reading.offset(queue, place)

    async def reset(
        self, group: str, topic: str, to: Target, *, dry_run: bool = False
    ) -> tuple[OffsetChange, ...]:
        """Send a group to a time in all queues of a topic.

        Members that are connected go there at once; others when they come.

        Args:
            group: its name.
            topic: the topic.
            to: a time: a `datetime`, or milliseconds since the epoch; or `"first"`, or `"last"`.
            dry_run: change nothing, only return what would change.

        Example:
            ```python
            an_hour_ago = datetime.now() - timedelta(hours=1)
            admin.offsets.reset("billing", "orders", an_hour_ago, dry_run=True)
            ```
        """
        await self._groups.config(group)
        route = await self._servers.fresh_route(topic)
        missing = {queue.broker for queue in route.subscribe} - dict(route.masters()).keys()
        if missing:
            raise AdminError(
                f"brokers {', '.join(sorted(missing))} have no master now: offsets cannot be set"
            )
        changes = await asyncio.gather(*(self._planned(group, queue, to) for queue in route.subscribe))
        if not dry_run:
            for broker in sorted({queue.broker for queue in route.subscribe}):
                await self._carry_out(group, [each for each in changes if each.queue.broker == broker], to)
        return tuple(changes)

    async def reset_queue(
        self, group: str, queue: Queue, offset: int, *, dry_run: bool = False
    ) -> OffsetChange:
        """Send a group to an offset in one queue.

        Args:
            group: its name.
            queue: the queue.
            offset: the next message the group shall get.
            dry_run: change nothing, only return what would change.
        """
        await self._groups.config(group)
        if queue.broker not in dict((await self._servers.fresh_route(queue.topic)).masters()):
            raise NotFound(f"topic {queue.topic!r} is not on a broker {queue.broker!r} that has a master")
        change = await self._planned(group, queue, "first", offset=offset)
        if not change.min_offset <= offset <= change.max_offset:
            raise AdminError(
                f"queue {queue.queue_id} of topic {queue.topic!r} on {queue.broker} has offsets "
                f"{change.min_offset} to {change.max_offset}, not {offset}"
            )
        if not dry_run:
            await self._carry_out(group, [change], None)
        return change

    async def skip(self, group: str, topic: str, *, dry_run: bool = False) -> tuple[OffsetChange, ...]:
        """Send a group to the ends of a topic's queues: what it has not consumed, it never will."""
        return await self.reset(group, topic, "last", dry_run=dry_run)

    async def clone(self, source: str, target: str, topic: str | None = None) -> tuple[OffsetChange, ...]:
        """Give one group the offsets of another.

        Args:
            source: the group to copy from.
            target: the group to copy to; its members should not be connected.
            topic: only in this topic; without it, in all topics that the source reads.
        """
        await self._groups.config(target)
        copied = await self.progress(source, topic)
        queues = [each for each in copied.queues if each.queue.topic != retry_topic(source)]
        for name in sorted({moved.queue.topic for moved in queues}):
            await self._servers.fresh_route(name)
        changes = await asyncio.gather(
            *(self._planned(target, each.queue, "first", offset=each.offset) for each in queues)
        )
        for change in changes:
            await self._commit(target, change)
        return tuple(changes)

    async def _planned(
        self, group: str, queue: Queue, to: Target, *, offset: int | None = None
    ) -> OffsetChange:
        reading = self._reading
        before, first, last, place = await asyncio.gather(
            self._committed(group, queue),
            reading.offset(queue, "first"),
            reading.offset(queue, "last"),
            reading.offset(queue, to),
        )
        after = min(max(place, first), last) if offset is None else offset
        return OffsetChange(queue, before, after, first, last)

    def _master(self, queue: Queue) -> str:
        return self._servers.network.address_of(queue.broker)

    async def _committed(self, group: str, queue: Queue) -> int | None:
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, set_zero_if_not_found=False
        )
        answer = await self._servers.ask(
            self._master(queue), Code.QUERY_CONSUMER_OFFSET, header=header, accept=_FOUND_OR_NOT
        )
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        return QueryConsumerOffsetResponseHeader.decode(answer.fields).offset

    async def _carry_out(self, group: str, changes: Sequence[OffsetChange], to: Target | None) -> None:
        """Set offsets on one broker; `to` is the place they stand for, if they do for all queues."""
        address = self._master(changes[0].queue)
        answer = await self._servers.ask(address, Code.GET_BROKER_CONFIG)
        settings = properties.parse(answer.body.decode())
        if settings.get("useServerSideResetOffset") == "true":
            for change in changes:
                await self._reset_at_broker(group, change)
        elif not (await self._connections.consumers(group)).online:
            for change in changes:
                await self._commit(group, change)
        elif to is not None:
            when = ENDS_MS[to] if isinstance(to, str) else milliseconds(to)
            header = ResetOffsetRequestHeader(
                group=group, topic=changes[0].queue.topic, timestamp=when, is_force=True
            )
            await self._servers.ask(address, Code.INVOKE_BROKER_TO_RESET_OFFSET, header=header)
        else:
            raise AdminError(
                f"members of group {group!r} are connected, and this broker cannot send them to an offset: "
                "stop them first, or reset by time"
            )

    async def _reset_at_broker(self, group: str, change: OffsetChange) -> None:
        header = ResetOffsetRequestHeader(
            group=group,
            topic=change.queue.topic,
            queue_id=change.queue.queue_id,
            offset=change.after,
            is_force=True,
        )
        await self._servers.ask(self._master(change.queue), Code.INVOKE_BROKER_TO_RESET_OFFSET, header=header)

    async def _commit(self, group: str, change: OffsetChange) -> None:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=group,
            topic=change.queue.topic,
            queue_id=change.queue.queue_id,
            commit_offset=change.after,
        )
        await self._servers.ask(self._master(change.queue), Code.UPDATE_CONSUMER_OFFSET, header=header)
