"""Delay levels: messages wait in the schedule topic, one queue a level, and go on when their time has come.

The engine moves the messages; here is decided when it looks at which level. How far each level is stands in
`delayOffset.json`, with the place in the log after which there may be deliveries that it does not count:
after a crash they are found there, so that none is made twice.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from tailfin.broker import names
from tailfin.broker.clock import Clock
from tailfin.broker.config_file import ConfigFile, following
from tailfin.off_loop import to_its_end
from tailfin.store import DelayLevels, Store
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.groups import DelayOffsetSerializeWrapper

log = logging.getLogger("tailfin.broker")

FIRST_LOOK_S = 1.0
LOOK_EVERY_S = 0.1
PAUSE_AFTER_FAILURE_S = 10.0
BATCH = 16_384
"""Messages of one level before the others get their turn."""
LOG_GROWTH = 256 << 20
"""The file is written anew when the log has grown by this, so that little of it is searched after a crash."""

Stored = list[tuple[str, int, int]]
"""Messages and bytes stored by topic."""
Look = tuple[int, int, int | None, Stored, str | None]
"""A level, its new head, when that is due, what was stored, and why it went no further."""
State = tuple[dict[int, int], int]
"""How far each level is, and where in the log later deliveries stand."""


class Schedule:
    """Delivers delayed messages."""

    def __init__(self, folder: Path, store: Store, clock: Clock, count: Callable[[Stored], None]) -> None:
        """Take the folder of the file, and whom to tell what was delivered."""
        self._store = store
        self._clock = clock
        self._count = count
        self._delays = store.config.delays_ms()
        self._file = ConfigFile(folder / "delayOffset.json", DelayOffsetSerializeWrapper)
        self._version = DataVersion()
        self._offsets: dict[int, int] = {}
        self._delivered_from = 0
        self._due: dict[int, int] = {}
        self._troubled: set[int] = set()
        self._persisted: State | None = None

    @property
    def level_max(self) -> int:
        """The highest level; a higher one in a message means this."""
        return len(self._delays)

    def load(self) -> None:
        """Read how far each level is, and find in the log what was delivered since that was written."""
        content = self._file.read()
        if content is None:
            # Killed before the file was first written, unless nothing ever waited.
            waited = names.SCHEDULE_TOPIC in self._store.topics()
            content = DelayOffsetSerializeWrapper(delivered_from=0 if waited else None)
        self._offsets = dict(content.offset_table)
        self._version = content.data_version or self._version
        for level in range(1, self.level_max + 1):
            self._offsets[level] = self._within_queue(level)
        self._engine = DelayLevels(self._store, delivered_from=content.delivered_from)
        if self._engine.delivered_before:
            log.info("%d delayed messages were delivered before the crash", self._engine.delivered_before)
        if content.delivered_from is None:
            self._delivered_from = self._store.max_physical_offset
        else:
            self._delivered_from = content.delivered_from
            self._persisted = (dict(self._offsets), self._delivered_from)

    def _within_queue(self, level: int) -> int:
        low = self._store.min_offset(names.SCHEDULE_TOPIC, level - 1)
        high = self._store.max_offset(names.SCHEDULE_TOPIC, level - 1)
        found = self._offsets.get(level, low)
        if not low <= found <= high:
            text = "delayOffset.json has level %d at %d, the queue has %d to %d: going on within it"
            log.warning(text, level, found, low, high)
        return min(max(found, low), high)

    def snapshot(self) -> DelayOffsetSerializeWrapper:
        """Return the offsets as slaves are told them."""
        moved = {level: offset for level, offset in self._offsets.items() if offset}
        return DelayOffsetSerializeWrapper(offset_table=moved, data_version=self._version)

    def persist_if_changed(self) -> None:
        """Write the file when a message was delivered since the last time, or much was stored."""
        self._persist(self._state())

    def _state(self) -> State:
        return dict(self._offsets), self._delivered_from

    def _persist(self, state: State) -> None:
        offsets, delivered_from = state
        before = self._persisted
        if before and offsets == before[0] and delivered_from - before[1] < LOG_GROWTH:
            return
        # A delivery that the file counts must not be lost with the machine.
        self._store.flush()
        self._version = following(self._version)
        self._file.write(
            DelayOffsetSerializeWrapper(
                offset_table={level: offset for level, offset in offsets.items() if offset},
                data_version=self._version,
                delivered_from=delivered_from,
            )
        )
        self._persisted = state

    def progress(self) -> dict[int, tuple[int, int]]:
        """Return where each level is, and where its queue ends."""
        return {
            level: (offset, self._store.max_offset(names.SCHEDULE_TOPIC, level - 1))
            for level, offset in sorted(self._offsets.items())
        }

    async def run(self) -> None:
        """Deliver for ever."""
        await self._clock.sleep(FIRST_LOOK_S)
        while True:
            now = self._clock.now_ms()
            levels = [level for level in range(1, self.level_max + 1) if self._due.get(level, 0) <= now]
            if levels:
                await self._deliver(levels, now)
            pause = (self._next_look() - self._clock.now_ms()) / 1000
            await self._clock.sleep(min(max(pause, 0.0), LOOK_EVERY_S))

    async def keep(self) -> None:
        """Write down for ever how far the levels are."""
        while True:
            try:
                await to_its_end(self._persist, self._state())
            except Exception:
                log.exception("delayOffset.json could not be written; it is tried again")
            await asyncio.sleep(self._store.config.flushDelayOffsetInterval / 1000)

    async def _deliver(self, levels: list[int], now: int) -> None:
        # Also when the broker stops meanwhile: what was delivered is to be written down.
        self._take(await to_its_end(self._look, levels, now), now)

    def _next_look(self) -> int:
        return min((self._due.get(level, 0) for level in range(1, self.level_max + 1)), default=0)

    def _look(self, levels: list[int], now: int) -> list[Look]:
        looks: list[Look] = []
        for level in levels:
            head = self._offsets[level]
            try:
                looks.append(self._look_at(level, head, now))
            except Exception:
                log.exception("delivery of delay level %d failed; it is tried again", level)
                looks.append((level, head, now + int(PAUSE_AFTER_FAILURE_S * 1000), [], None))
        return looks

    def _look_at(self, level: int, head: int, now: int) -> Look:
        delay = self._delays[level - 1]
        # The engine reckons from when a message was stored, by the machine's clock.
        offset, due, stored, trouble = self._engine.deliver(
            names.SCHEDULE_TOPIC,
            level - 1,
            head,
            now=self._clock.machine_at_ms(now - delay) + delay,
            delay=delay,
            limit=BATCH,
        )
        if due is not None:
            due = self._clock.at_ms(due - delay) + delay
        return level, offset, due, stored, trouble

    def _take(self, looks: list[Look], now: int) -> None:
        for level, offset, due, stored, trouble in looks:
            self._offsets[level] = offset
            # An empty queue is looked at again soon: nothing that arrives meanwhile is due before.
            self._due[level] = due if due is not None else now + int(LOOK_EVERY_S * 1000)
            self._count(stored)
            if trouble:
                self._due[level] = now + int(LOOK_EVERY_S * 1000)
                if level not in self._troubled:
                    log.warning("delay level %d waits: %s", level, trouble)
                self._troubled.add(level)
            elif stored:
                self._troubled.discard(level)
        # Until all that was due at the start is passed, what is known of before the crash must stay findable.
        if self._engine.delivered_before and self._next_look() > now:
            self._engine.forget_delivered()
        if not self._engine.delivered_before:
            self._delivered_from = self._store.max_physical_offset
