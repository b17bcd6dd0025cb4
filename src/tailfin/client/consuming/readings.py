"""The queues that a consumer reads: taken, read ahead, given up."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any

from tailfin.broker import names
from tailfin.client.consuming.locking import VALID_S, Locks
from tailfin.client.consuming.offset_tables import OffsetTable
from tailfin.client.consuming.offsets import OffsetStore
from tailfin.client.consuming.positions import Beginnings
from tailfin.client.consuming.pulling import QueueReader, Sink
from tailfin.client.consuming.reading import Keep, Reading
from tailfin.client.errors import ClientError
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.client")


class Readings:
    """All queues that a consumer reads now.

    Args:
        network: what the consumer stands on.
        read: makes a reader of a queue from an offset.
        offer: is told that a queue has messages.
        store: where offsets are kept.
        beginnings: where reading begins.
        locks: take one for each queue before it is read; None: none are needed.
        guard: the lock over everything that is cached.
        auto_commit: commit what is done; otherwise only what the user commits.
        span_max: how far messages held of one queue may be apart; None: any distance.
        keep: says which messages are wanted at all; None: every one.
    """

    def __init__(
        self,
        network: Network,
        *,
        read: Callable[[Queue, int, Sink], QueueReader],
        offer: Callable[[Reading], None],
        store: OffsetStore,
        beginnings: Beginnings,
        locks: Locks | None,
        guard: threading.Lock,
        auto_commit: bool = True,
        span_max: int | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._keep = keep
        self._network = network
        self._span_max = span_max
        self._auto_commit = auto_commit
        self._read = read
        self._offer = offer
        self._store = store
        self._beginnings = beginnings
        self._locks = locks
        self._guard = guard
        self.offsets = OffsetTable()
        self._readings: dict[Queue, Reading] = {}
        self._leaving: dict[Queue, Reading] = {}
        # One at a time: a renewal that overtakes the return of a lock would keep it from everybody.
        self._locking = asyncio.Lock()
        self._seen: dict[str, set[Queue]] = {}
        self._appeared: set[Queue] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __iter__(self) -> Iterator[Reading]:
        return iter(tuple(self._readings.values()))

    def get(self, queue: Queue) -> Reading | None:
        """Return a queue that is read."""
        return self._readings.get(queue)

    @property
    def queues(self) -> set[Queue]:
        """The queues that are read."""
        return set(self._readings)

    async def assign(self, topic: str, queues: Iterable[Queue]) -> bool:
        """Read exactly these queues of a topic; return whether that is so now."""
        self._note_new_queues(topic)
        wanted = set(queues)
        for queue in [each for each in self._readings if each.topic == topic and each not in wanted]:
            await self.drop(queue)
        missing = wanted - self._readings.keys()
        fresh = missing - self._leaving.keys()
        if self._locks is not None and fresh:
            async with self._locking:
                fresh, _ = await self._locks.take(fresh)
        await asyncio.gather(*(self._add(queue) for queue in sorted(fresh)))
        return wanted <= self._readings.keys()

    async def forget_topics(self, subscribed: Iterable[str]) -> None:
        """Give up the queues of all other topics."""
        kept = set(subscribed)
        for queue in [each for each in self._readings if each.topic not in kept]:
            await self.drop(queue)

    async def drop(self, queue: Queue) -> None:
        """Give a queue up to another member: what is done is committed, what waits is left to the other."""
        reading = self._readings.pop(queue)
        self._close(reading)
        if self._locks is None:
            await self._commit_last(reading)
            with self._guard:
                reading.cached.abandon()
            self.offsets.forget(queue)
        else:
            # The lock is kept until the handler is through, so that nobody overtakes it.
            self._leaving[queue] = reading
            self._background(self._leave(reading))

    def seek(self, queue: Queue, offset: int) -> None:
        """Forget what is held of a queue, and go on from another offset."""
        reading = self._readings.get(queue)
        if reading is not None and reading.reader is not None:
            self._restart(reading, offset, reading.reader)

    async def reset(self, offsets: Mapping[Queue, int]) -> None:
        """Forget what is held of queues, and go on from other offsets."""
        for queue, offset in offsets.items():
            self.seek(queue, offset)
        await self.store_offsets()

    def progress(self) -> dict[Queue, int]:
        """Return how far each queue is done."""
        with self._guard:
            for reading in self:
                reading.note_read()
            return {queue: reading.cached.commit_offset for queue, reading in self._readings.items()}

    async def commit(self) -> None:
        """Store what is done and not stored yet."""
        self._note_progress()
        await self.store_offsets()

    async def commit_everything(self) -> None:
        """Store what is done, also if it was stored before: a killed broker forgets its last seconds."""
        self._note_progress()
        self.offsets.told(await self._store.store(self.offsets.everything()))

    async def store_offsets(self) -> None:
        """Store noted offsets that are not stored yet."""
        untold = self.offsets.untold()
        if untold:
            self.offsets.told(await self._store.store(untold))

    async def renew_locks(self) -> bool:
        """Go on holding the locks; return whether all are held."""
        if self._locks is None:
            return True
        async with self._locking:
            everything = {**self._leaving, **self._readings}
            held, unknown = await self._locks.take(everything)
        until = time.monotonic() + VALID_S
        for queue, reading in everything.items():
            if queue in held:
                reading.locked_until = until
                self._offer(reading)
            elif queue not in unknown:
                log.warning("the lock on %s is with another member; its messages wait", queue)
                reading.locked_until = 0.0
        return len(held) == len(everything)

    def stop_reading(self) -> None:
        """Pull no more, and leave what no handler has to the next reader."""
        for reading in self:
            self._close(reading)

    async def stop(self, seconds: float) -> None:
        """Commit what is done, within so many seconds, and give everything up."""
        if self._auto_commit:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.commit()
            if untold := self.offsets.untold():
                log.warning("some messages of %s come again: their offsets are not kept", sorted(untold))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._locks is not None:
            await self._locks.give_back({**self._leaving, **self._readings})
        self._readings.clear()
        self._leaving.clear()

    def _note_progress(self) -> None:
        for queue, offset in self.progress().items():
            self.offsets.advance(queue, offset)

    async def _add(self, queue: Queue) -> None:
        retry = queue.topic.startswith(names.RETRY_PREFIX)
        try:
            offset, new = await self._beginnings.of(queue, retry=retry, appeared=queue in self._appeared)
        except (RemotingError, ClientError) as error:
            log.warning("%s is not read yet, its offset could not be found out: %s", queue, error)
            return
        self.offsets.forget(queue)
        self.offsets.put(queue, offset)
        if new:
            # At once, so that the decision holds even if this consumer is killed before it reads anything.
            self.offsets.told(await self._store.store({queue: offset}))
        reading = self._readings[queue] = Reading(queue, offset, self._guard, self._span_max, self._keep)
        if self._locks is not None:
            reading.locked_until = time.monotonic() + VALID_S
        reading.reader = self._read(queue, offset, _News(self, reading, self._offer))

    def moved(self, reading: Reading, offset: int) -> None:
        """Go on elsewhere: the queue has nothing at the offset it was read from."""
        log.warning("%s has no message at the offset asked for; reading goes on at %d", reading.queue, offset)
        self._restart(reading, offset)

    def _restart(self, reading: Reading, offset: int, seeks: QueueReader | None = None) -> None:
        with self._guard:
            if seeks is not None:
                # One step for workers: what they took from there in between would be forgotten too.
                seeks.seek(offset)
            left = reading.cached.restart(offset)
        self.offsets.put(reading.queue, offset)
        reading.worked(left)

    def _close(self, reading: Reading) -> None:
        with self._guard:
            if reading.reader is not None:
                reading.reader.close()
                reading.reader = None
            reading.cached.dropped = True
            reading.cached.clear()

    async def _commit_last(self, reading: Reading) -> None:
        if not self._auto_commit:
            return
        with self._guard:
            offset = reading.cached.commit_offset
        self.offsets.advance(reading.queue, offset)
        latest = self.offsets[reading.queue]
        if latest is not None:
            await self._store.store({reading.queue: latest})

    async def _leave(self, reading: Reading) -> None:
        await reading.idle()
        await self._commit_last(reading)
        self.offsets.forget(reading.queue)
        if self._locks is not None:
            async with self._locking:
                await self._locks.give_back([reading.queue])
                del self._leaving[reading.queue]

    def _note_new_queues(self, topic: str) -> None:
        route = self._network.known_route(topic)
        now = set(route.subscribe) if route is not None else set()
        before = self._seen.get(topic)
        if before is not None:
            self._appeared |= now - before
        self._seen[topic] = now | (before or set())

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _News:
    """Passes a reader's news on."""

    def __init__(self, readings: Readings, reading: Reading, offer: Callable[[Reading], None]) -> None:
        self._readings = readings
        self._reading = reading
        self._offer = offer

    def ready(self) -> None:
        """Have messages handed out."""
        self._offer(self._reading)

    def moved(self, offset: int) -> None:
        """Go on elsewhere."""
        self._readings.moved(self._reading, offset)
