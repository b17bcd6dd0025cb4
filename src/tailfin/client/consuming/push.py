"""The push consumer: messages come to a handler."""

import asyncio
import logging
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

from tailfin._engine import decode_messages
from tailfin.client.checking import check_group
from tailfin.client.consuming.answering import answers
from tailfin.client.consuming.describing import running_info, stats_of
from tailfin.client.consuming.dispatching import Dispatcher
from tailfin.client.consuming.failing import FailureRules, Failures
from tailfin.client.consuming.group import Group
from tailfin.client.consuming.handing_back import HandingBack
from tailfin.client.consuming.handlers import Handler, check_handler, is_async, judged
from tailfin.client.consuming.hooking import Hooked
from tailfin.client.consuming.push_options import PushKeywords, PushOptions, split_keywords
from tailfin.client.consuming.settings import ReadSettings
from tailfin.client.consuming.stats import ConsumerStats
from tailfin.client.consuming.subscriptions import Expression, check_subscriptions
from tailfin.client.consuming.tracing import ConsumptionTrace
from tailfin.client.consuming.workers import TaskWorkers, ThreadWorkers
from tailfin.client.errors import ClientError, ClientStopped
from tailfin.client.options import ClientOptions
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import ConsumeType
from tailfin.wire.bodies.stats import CMResult, ConsumerRunningInfo

log = logging.getLogger("tailfin.client")

H = TypeVar("H", bound=Handler)

WATCH_S = 0.05
WATCH_IDLE_S = 0.5


class PushConsumer:
    """A member of a consumer group whose messages come to a handler.

    The handler is a function (called in threads) or a coroutine function (awaited in tasks). When it returns
    None or True, the message is consumed. When it raises, or returns `RETRY`, `Retry(...)` or False, the
    message comes again later; after `max_reconsume_times` it goes to the group's dead letters.

    Args:
        group: name of the consumer group; its members share the messages.
        subscribe: what to read: topics with `"*"`, tags (`"paid || shipped"`) or `Sql("amount > 100")`.
        handler: see above; or use the decorator `@consumer.handler`.
        **options: see `PushOptions`, `ReadSettings` and `ClientOptions`.

    Example:
        ```python
        async def bill(message):
            await charge(message.body)


        async with tailfin.aio.PushConsumer(
            "billing", nameserver="127.0.0.1:9876", subscribe={"orders": "paid"}, handler=bill
        ):
            await asyncio.Event().wait()
        ```
    """

    def __init__(
        self,
        group: str,
        *,
        subscribe: Mapping[str, Expression] | None = None,
        handler: Handler | None = None,
        **options: Unpack[PushKeywords],
    ) -> None:
        check_group(group)
        self._client, self._settings, self._options = split_keywords(options)
        self._client.nameservers()
        self._name = group
        self._subscribed = check_subscriptions(subscribe or {})
        self._handler: Handler | None = None
        if handler is not None:
            self.handler(handler)
        self._running: _Running | None = None

    def handler(self, function: H) -> H:
        """Set the handler; usable as a decorator.

        Example:
            ```python
            @consumer.handler
            def bill(message): ...
            ```
        """
        check_handler(function)
        if self._handler is not None:
            raise ClientError(
                f"the consumer of group {self._name!r} has a handler already: {self._handler!r}"
            )
        self._handler = function
        return function

    async def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Read a topic, or read it by another expression; before the start, or while the consumer runs."""
        self._subscribed |= check_subscriptions({topic: expression})
        if self._running is not None:
            await self._running.resubscribe(topic, expression)

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self._subscribed.pop(topic, None)
        if self._running is not None:
            await self._running.resubscribe(topic, None)

    async def start(self) -> None:
        """Join the group and begin to read.

        When this returns, whatever is sent to a queue of this member comes to its handler.

        Raises:
            ClientError: there is no handler or no subscription, or no name server answers.
        """
        if self._running is not None:
            raise ClientError(f"the consumer of group {self._name!r} is running already")
        if self._handler is None:
            raise ClientError("there is no handler: pass handler=..., or use the decorator @consumer.handler")
        if not self._subscribed:
            raise ClientError('nothing is subscribed to: pass subscribe={"topic": "*"}')
        running = _Running(self._name, self._handler, self._client, self._settings, self._options)
        for topic, expression in self._subscribed.items():
            running.group.subscribe(topic, expression)
        self._running = running
        try:
            await running.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Let handlers that run finish, within `stop_timeout`, commit, and leave the group."""
        running = self._running
        if running is not None:
            running.group.network.check_loop()
            self._running = None
            await running.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    def pause(self) -> None:
        """Call the handler no more for now; calls that run go on."""
        self._started().dispatcher.pause()

    def resume(self) -> None:
        """Call the handler again."""
        self._started().dispatcher.resume()

    def stats(self) -> ConsumerStats:
        """Return what the consumer did since its start, and what it holds now."""
        running = self._started()
        return stats_of(running.group, running.dispatcher, running.failures)

    @property
    def queues(self) -> set[Queue]:
        """The queues that this member reads now, those with the group's retries included."""
        group = self._started().group
        return {group.queue_for_user(queue) for queue in group.readings.queues}

    def _started(self) -> "_Running":
        if self._running is None:
            raise ClientStopped("the consumer is not running: call start(), or use it in a `with` block")
        return self._running


class _Running:
    """A push consumer between its start and its end."""

    def __init__(
        self, name: str, handler: Handler, client: ClientOptions, settings: ReadSettings, options: PushOptions
    ) -> None:
        self._options = options
        self._client = client
        self._handler = handler
        self.group = Group(
            name,
            client=client,
            settings=settings,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            broadcast=options.broadcast,
            ordered=options.orderly,
            consume_from=options.consume_from,
            strategy=options.strategy,
            store=options.offsets,
            offer=lambda reading: self.dispatcher.offer(reading),
            handlers=answers(self, orderly=options.orderly),
        )
        self._trace = ConsumptionTrace(self.group.network, client) if client.trace else None
        traced = [self._trace.hook] if self._trace else []
        hooked = Hooked([*client.hooks, *traced], self.group.group, client.namespace)
        label = f"tailfin-{name}"
        self._async = is_async(handler)
        self._workers: TaskWorkers | ThreadWorkers
        if self._async:
            self._workers = TaskWorkers(options.concurrency, label, hooked.awaited(cast("Any", handler)))
        else:
            self._workers = ThreadWorkers(options.concurrency, label, hooked.plain(handler))
        rules = FailureRules(
            orderly=options.orderly,
            broadcast=options.broadcast,
            retries_max=options.retries_max,
            suspend=options.suspend,
            keep=settings.retry_pause,
        )
        back = HandingBack(
            self.group.network, self.group.group, options.retries_max, unit_mode=client.unit is not None
        )
        self.failures = Failures(rules, back, lambda reading: self.dispatcher.offer(reading), f"group {name}")
        self.dispatcher = self._workers.dispatcher = Dispatcher(
            self.group.guard,
            orderly=options.orderly,
            batch_size=options.batch_size,
            wake=self._workers.wake,
            failed=self.failures.failed,
        )
        self._watch: asyncio.Task[None] | None = None
        self.begun_ms = int(time.time() * 1000)

    async def start(self) -> None:
        if self._trace:
            await self._trace.start()
        await self.group.start()
        await self.group.share_queues()
        self._watch = asyncio.create_task(self._watch_calls())

    async def stop(self) -> None:
        deadline = time.monotonic() + self._client.stop_timeout
        self.dispatcher.stopping = True
        await self.group.stop_taking()
        if self._watch is not None:
            self._watch.cancel()
        late = await self._workers.stop(max(deadline - time.monotonic(), 0.0))
        if late:
            log.warning(
                "group %s: %d calls of the handler did not end within %g s; their messages come again",
                self.group.group,
                late,
                self._client.stop_timeout,
            )
        await self.failures.stop(max(deadline - time.monotonic(), 0.1))
        if self._trace:
            await self._trace.stop()
        await self.group.leave(deadline)

    async def resubscribe(self, topic: str, expression: Expression | None) -> None:
        self.group.unsubscribe(topic)
        await self.group.readings.forget_topics(self.group.subscriptions)
        if expression is not None:
            self.group.subscribe(topic, expression)
        await self.group.changed()

    async def _watch_calls(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S if self.dispatcher.running else WATCH_IDLE_S)
            if self._options.orderly:
                continue
            now = time.monotonic()
            self.dispatcher.take_away(now)
            for reading, portion in self.dispatcher.give_up_overdue(now, self._options.consume_timeout):
                self.failures.overdue(reading, portion)

    # What brokers ask

    def rebalance_soon(self) -> None:
        self.group.rebalancer.soon()

    async def reset_offsets(self, offsets: Mapping[Queue, int]) -> None:
        log.info("group %s: offsets are reset: %s", self.group.group, dict(offsets))
        await self.group.readings.reset(offsets)

    def offsets_of(self, topic: str) -> Mapping[Queue, int]:
        return {
            queue: offset for queue, offset in self.group.readings.progress().items() if queue.topic == topic
        }

    def running_info(self) -> ConsumerRunningInfo:
        return running_info(self.group, self._options, self.begun_ms)

    async def consume_now(self, record: bytes, broker: str | None) -> tuple[CMResult, str | None]:
        messages = decode_messages(record, broker=broker or "", namespace=self._client.namespace)
        given: Any = messages if self._options.batch_size > 1 else messages[0]
        try:
            if self._async:
                outcome = await cast("Any", self._handler)(given)
            else:
                outcome = await asyncio.to_thread(self._handler, given)
            retry = judged(outcome)
        except Exception as error:
            return CMResult.CR_THROW_EXCEPTION, f"{type(error).__name__}: {error}"
        return (CMResult.CR_SUCCESS if retry is None else CMResult.CR_LATER), None
