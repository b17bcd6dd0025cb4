"""The lite pull consumer: messages are read ahead, and wait until they are asked for."""

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Self, Unpack

from tailfin._engine import ReceivedMessage
from tailfin.client.checking import check_group
from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.describing import queue_stats
from tailfin.client.consuming.group import Group
from tailfin.client.consuming.lite_options import LitePullKeywords, split_keywords
from tailfin.client.consuming.starting import search_time_ms
from tailfin.client.consuming.stats import ConsumerStats
from tailfin.client.consuming.subscriptions import Expression, check_subscriptions
from tailfin.client.consuming.supply import Supply
from tailfin.client.errors import ClientError, ClientStopped
from tailfin.client.limits import check_seconds
from tailfin.client.names import wrap
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import ConsumeType
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame

POLL_LIMIT = 1024
ITERATION_LIMIT = 256


class LitePullConsumer:
    """A consumer that is asked for messages: `poll`, or iterate over it.

    It is a member of its group and reads its share of the topics it subscribes to; or it reads the queues
    that `assign` gives it, whoever else does. What a poll returned counts as consumed with the next poll, and
    at the end of the block unless that ends by an exception. So one thread or task asks it; a second one that
    asks at the same time is refused: give each a consumer of its own.

    Args:
        group: name of the consumer group.
        subscribe: what to read: topics with `"*"`, tags (`"paid || shipped"`) or `Sql("amount > 100")`.
        **options: see `LitePullOptions`, `ReadSettings` and `ClientOptions`.

    Example:
        ```python
        async with tailfin.aio.LitePullConsumer("billing", subscribe={"orders": "*"}) as consumer:
            async for message in consumer:
                print(message.body)
        ```
    """

    def __init__(
        self,
        group: str,
        *,
        subscribe: Mapping[str, Expression] | None = None,
        **options: Unpack[LitePullKeywords],
    ) -> None:
        check_group(group)
        self._client, self._settings, self._options = split_keywords(options)
        self._client.nameservers()
        self._name = group
        self._subscribed = check_subscriptions(subscribe or {})
        self._assigned: dict[Queue, Expression] = {}
        self._group: Group | None = None
        self._supply = Supply()

    # Life

    async def start(self) -> None:
        """Join the group, and begin to read."""
        if self._group is not None:
            raise ClientError(f"the consumer of group {self._name!r} is running already")
        options = self._options
        group = Group(
            self._name,
            client=self._client,
            settings=self._settings,
            consume_type=ConsumeType.CONSUME_ACTIVELY,
            broadcast=options.broadcast,
            ordered=False,
            consume_from=options.consume_from,
            strategy=options.strategy,
            store=options.offsets,
            offer=self._supply.offer,
            handlers={Code.NOTIFY_CONSUMER_IDS_CHANGED: self._members_changed},
            auto_commit=options.auto_commit,
        )
        self._group = group
        self._supply.open()
        try:
            for topic, expression in self._subscribed.items():
                group.subscribe(topic, expression)
            await group.start()
            if self._assigned:
                await self._read_assigned(group)
            elif self._subscribed:
                await group.share_queues()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Count what was polled as consumed, commit if `auto_commit`, and leave the group."""
        await self._end(done=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._end(done=error is None)

    async def _end(self, *, done: bool) -> None:
        if self._group is None:
            return
        group = self._started_here()
        self._group = None
        deadline = time.monotonic() + self._client.stop_timeout
        self._supply.wake()
        await group.stop_taking()
        if not done:
            self._supply.take_back()
        self._supply.settle()
        await group.leave(deadline)

    # What to read

    async def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Read this member's share of a topic."""
        self._check_not_both(self._assigned, "assign")
        self._subscribed |= check_subscriptions({topic: expression})
        if self._group is not None:
            group, first = self._group, not self._group.subscriptions
            group.unsubscribe(topic)
            await group.readings.forget_topics(group.subscriptions)
            group.subscribe(topic, expression)
            await group.changed()
            if first:
                await group.share_queues()

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self._subscribed.pop(topic, None)
        if self._group is not None:
            self._group.unsubscribe(topic)
            await self._group.readings.forget_topics(self._group.subscriptions)
            await self._group.changed()

    async def assign(self, queues: Iterable[Queue], expression: Expression = "*") -> None:
        """Read exactly these queues, whoever else reads them."""
        self._check_not_both(self._subscribed, "subscribe")
        self._assigned = dict.fromkeys((Queue(*queue) for queue in queues), expression)
        if self._group is not None:
            await self._read_assigned(self._group)

    async def available_queues(self, topic: str) -> set[Queue]:
        """Return all queues of a topic."""
        group = self._started()
        found = await group.network.subscribe_queues(wrap(self._client.namespace, topic))
        return {group.queue_for_user(queue) for queue in found}

    @property
    def queues(self) -> set[Queue]:
        """The queues that this consumer reads now."""
        group = self._started()
        return {group.queue_for_user(queue) for queue in group.readings.queues}

    def pause(self, queues: Iterable[Queue]) -> None:
        """Leave queues out of polls for now."""
        self._supply.pause(self._wrapped(queue) for queue in queues)

    def resume(self, queues: Iterable[Queue]) -> None:
        """Poll queues again."""
        back = {self._wrapped(queue) for queue in queues}
        self._supply.resume(back)
        for reading in self._started().readings:
            if reading.queue in back:
                self._supply.offer(reading)

    # Messages

    async def poll(self, timeout: float = 5.0, limit: int = POLL_LIMIT) -> list[ReceivedMessage]:
        """Return messages that are there, or the first that come within `timeout` seconds.

        What the poll before returned counts as consumed now.

        Example:
            ```python
            for message in await consumer.poll():
                ...
            ```
        """
        check_seconds("timeout", timeout, 0)
        self._started_here()
        with self._supply.alone():
            self._supply.settle()
            deadline = time.monotonic() + timeout
            while not (messages := self._supply.take_some(limit)):
                left = deadline - time.monotonic()
                if left <= 0 or not await self._supply.wait(left) or not self._is_running():
                    break
        return messages

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[ReceivedMessage]:
        while (portion := await self.next_portion()) is not None:
            for message in portion.show():
                yield message

    async def next_portion(self) -> Portion | None:
        """Return messages to go through one by one, when there are some; None at the end of the consumer.

        Those still in `todo` at the end have not been consumed.
        """
        if not self._is_running():
            return None
        self._started_here()
        with self._supply.alone():
            self._supply.settle()
            while self._is_running():
                portion = self._supply.take(ITERATION_LIMIT)
                if portion is not None:
                    return portion
                await self._supply.wait(None)
        return None

    # Offsets

    async def seek(self, queue: Queue, offset: int) -> None:
        """Go on with a queue at an offset."""
        if offset < 0:
            raise ValueError(f"an offset is 0 or more, not {offset}")
        self._started().readings.seek(self._read_queue(queue), offset)

    async def seek_to_begin(self, queue: Queue) -> None:
        """Go on with a queue at its first message."""
        await self.seek(queue, await self._started().positions.first(self._read_queue(queue)))

    async def seek_to_end(self, queue: Queue) -> None:
        """Go on with a queue after its last message."""
        await self.seek(queue, await self._started().positions.end(self._read_queue(queue)))

    async def seek_to_time(self, queue: Queue, moment: datetime) -> None:
        """Go on with a queue at the first message that was stored at a time or later."""
        positions = self._started().positions
        await self.seek(queue, await positions.at_time(self._read_queue(queue), search_time_ms(moment)))

    async def commit(self) -> None:
        """Count all that was polled as consumed, and commit it."""
        group = self._started_here()
        self._supply.settle()
        await group.readings.commit()

    async def committed(self, queue: Queue) -> int | None:
        """Return the group's offset of a queue; None: it has none."""
        return await self._started().store.fetch(self._wrapped(queue))

    def stats(self) -> ConsumerStats:
        """Return what the consumer did since its start, and what it holds now."""
        return ConsumerStats(consumed=self._supply.consumed, queues=queue_stats(self._started()))

    # Its own

    def _members_changed(self, request: Frame) -> Frame:
        if self._group is not None and not self._assigned:
            self._group.rebalancer.soon()
        return Frame(code=ResponseCode.SUCCESS)

    async def _read_assigned(self, group: Group) -> None:
        queues = {self._wrapped(queue): expression for queue, expression in self._assigned.items()}
        for queue, expression in queues.items():
            group.subscribe(queue.topic, expression)
            await group.network.route(queue.topic)
        await group.readings.forget_topics({queue.topic for queue in queues})
        for topic in {queue.topic for queue in queues}:
            of_topic = [queue for queue in queues if queue.topic == topic]
            if not await group.readings.assign(topic, of_topic):
                missing = sorted(set(of_topic) - group.readings.queues)
                raise ClientError(f"these queues cannot be read now: {missing}")

    def _read_queue(self, queue: Queue) -> Queue:
        wrapped = self._wrapped(queue)
        if wrapped not in self._started().readings.queues:
            raise ClientError(f"{queue} is not read by this consumer; it reads {sorted(self.queues)}")
        return wrapped

    def _wrapped(self, queue: Queue) -> Queue:
        return Queue(wrap(self._client.namespace, queue[0]), queue[1], queue[2])

    def _check_not_both(self, other: object, name: str) -> None:
        if other:
            raise ClientError(f"subscribe and assign exclude each other, and {name} was used")

    def _is_running(self) -> bool:
        return self._group is not None

    def _started_here(self) -> Group:
        group = self._started()
        group.network.check_loop()
        return group

    def _started(self) -> Group:
        if self._group is None:
            raise ClientStopped("the consumer is not running: call start(), or use it in a `with` block")
        return self._group
