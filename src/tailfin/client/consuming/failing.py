"""What is done with messages that a handler did not consume."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from tailfin._engine import ReceivedMessage
from tailfin.client.consuming.cached import Portion
from tailfin.client.consuming.dispatching import Failure
from tailfin.client.consuming.handing_back import HandingBack
from tailfin.client.consuming.judging import Fate, fate_concurrent, fate_orderly
from tailfin.client.consuming.reading import Reading

log = logging.getLogger("tailfin.client")

OVERDUE_LEVEL = 3


@dataclass(frozen=True, slots=True)
class FailureRules:
    """How a consumer treats failures.

    Attributes:
        orderly: a failed message is tried again on the spot.
        broadcast: a failed message is skipped.
        retries_max: how often a message comes again; -1 for ever.
        suspend: seconds that an ordered queue waits before another try.
        keep: seconds until another try of a message that no broker would take back.
    """

    orderly: bool
    broadcast: bool
    retries_max: int
    suspend: float
    keep: float


class Failures:
    """Takes failed messages from workers, and finds each its way, on the event loop.

    Args:
        rules: see there.
        back: hands messages back.
        offer: has a queue's messages handed out again.
        label: who fails, for the log.
    """

    def __init__(
        self, rules: FailureRules, back: HandingBack, offer: Callable[[Reading], None], label: str
    ) -> None:
        self._rules = rules
        self._back = back
        self._offer = offer
        self._label = label
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.handed_back = 0
        self.skipped = 0

    def failed(self, reading: Reading, portion: Portion, failures: list[Failure]) -> None:
        """Take failures; any thread may call it."""
        work = self._orderly if self._rules.orderly else self._concurrent
        self._loop.call_soon_threadsafe(lambda: self._begin(work(reading, portion, failures)))

    def overdue(self, reading: Reading, portion: Portion) -> None:
        """Take a portion whose handler has taken too long: the message comes again, perhaps elsewhere."""
        message = portion.messages[-1]
        log.warning(
            "%s: message %s of %s takes too long; it comes again later, as if it had failed",
            self._label,
            message.message_id,
            message.topic,
        )
        self._begin(self._concurrent(reading, portion, list(portion.failures), OVERDUE_LEVEL))

    async def stop(self, timeout: float) -> None:
        """Wait until failed messages have found their way; those that have not are read again by the next."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _concurrent(
        self, reading: Reading, portion: Portion, failures: list[Failure], level: int | None = None
    ) -> None:
        levels = {m.queue_offset: retry.delay_level for messages, retry, _ in failures for m in messages}
        self._report(failures)
        kept = [
            message
            for message in portion.messages
            if not await self._find_a_way(reading, message, levels.get(message.queue_offset, level or 0))
        ]
        with reading.guard:
            left = reading.cached.settle(portion, kept)
        reading.worked(left)
        if kept:
            await asyncio.sleep(self._rules.keep)
            self._again(reading, portion, kept)

    async def _find_a_way(self, reading: Reading, message: ReceivedMessage, level: int) -> bool:
        tried: tuple[Fate, ...] = ()
        while True:
            fate = fate_concurrent(broadcast=self._rules.broadcast, tried=tried)
            if fate is Fate.KEEP:
                return False
            if fate is Fate.DROP:
                self.skipped += 1
                return True
            if fate is Fate.HAND_BACK:
                found = await self._back.hand_back(message, reading.queue.broker, level)
            else:
                found = await self._back.send_to_retry(message, message.reconsume_times)
            if found:
                self.handed_back += 1
                return True
            tried = (*tried, fate)

    async def _orderly(self, reading: Reading, portion: Portion, failures: list[Failure]) -> None:
        self._report(failures)
        kept = [message for message in portion.messages if not await self._is_dead(message)]
        with reading.guard:
            left = reading.cached.settle(portion, kept)
        reading.worked(left)
        if kept:
            await asyncio.sleep(self._rules.suspend)
        self._again(reading, portion, kept)

    async def _is_dead(self, message: ReceivedMessage) -> bool:
        tries = message.reconsume_times
        limit = -1 if self._rules.broadcast else self._rules.retries_max
        if fate_orderly(tries, limit) is Fate.KEEP:
            message.reconsume_times = tries + 1
            return False
        if not await self._back.send_to_retry(message, tries):
            return False
        self.handed_back += 1
        return True

    def _again(self, reading: Reading, portion: Portion, kept: list[ReceivedMessage]) -> None:
        with reading.guard:
            reading.cached.give_back(portion, kept)
            reading.suspended = False
        reading.worked([])
        self._offer(reading)

    def _report(self, failures: list[Failure]) -> None:
        for messages, _, error in failures:
            if error is not None:
                log.warning(
                    "%s: the handler raised %s on message %s of %s%s",
                    self._label,
                    type(error).__name__,
                    messages[0].message_id,
                    messages[0].topic,
                    f" and {len(messages) - 1} more" if len(messages) > 1 else "",
                    exc_info=error,
                )
