"""A push consumer at work: its parts, and what brokers ask of it."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, cast

from tailfin._engine import decode_messages
from tailfin.client.consuming.answering import answers
from tailfin.client.consuming.describing import running_info
from tailfin.client.consuming.dispatching import Dispatcher
from tailfin.client.consuming.failing import FailureRules, Failures
from tailfin.client.consuming.group import Group
from tailfin.client.consuming.handing_back import HandingBack
from tailfin.client.consuming.handlers import Handler, is_async, judged
from tailfin.client.consuming.hooking import Hooked
from tailfin.client.consuming.push_options import PushOptions
from tailfin.client.consuming.settings import ReadSettings
from tailfin.client.consuming.subscriptions import Expression
from tailfin.client.consuming.tracing import ConsumptionTrace
from tailfin.client.consuming.workers import TaskWorkers, ThreadWorkers
from tailfin.client.options import ClientOptions
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import ConsumeType
from tailfin.wire.bodies.stats import CMResult, ConsumerRunningInfo

log = logging.getLogger("tailfin.client")

WATCH_S = 0.05
WATCH_IDLE_S = 0.5


class Running:
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
        """Join the group, and begin to read."""
        if self._trace:
            await self._trace.start()
        await self.group.start()
        await self.group.share_queues()
        self._watch = asyncio.create_task(self._watch_calls())

    async def stop(self) -> None:
        """Let handlers that run finish, within `stop_timeout`, commit, and leave the group."""
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
        """Read a topic by another expression; None: no more."""
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
        """Look again who reads what."""
        self.group.rebalancer.soon()

    async def reset_offsets(self, offsets: Mapping[Queue, int]) -> None:
        """Go on from other offsets."""
        log.info("group %s: offsets are reset: %s", self.group.group, dict(offsets))
        await self.group.readings.reset(offsets)

    def offsets_of(self, topic: str) -> Mapping[Queue, int]:
        """Return how far each queue of a topic is done."""
        return {
            queue: offset for queue, offset in self.group.readings.progress().items() if queue.topic == topic
        }

    def running_info(self) -> ConsumerRunningInfo:
        """Return what tools show of this consumer."""
        return running_info(self.group, self._options, self.begun_ms)

    async def consume_now(self, record: bytes, broker: str | None) -> tuple[CMResult, str | None]:
        """Have the handler consume a message out of turn; return the result, and why it failed."""
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
