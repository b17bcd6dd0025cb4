"""Delay levels: messages wait in the schedule topic, one queue a level, and go on when their time has come.

Within a level all wait equally long, so only the head of each queue has to be looked at. How far each level
is stands in `delayOffset.json`; a crash between delivery and that file delivers a message twice, never not
at all.
"""

import asyncio
import logging
import re
import time
from pathlib import Path

from tailfin.broker import names
from tailfin.broker.config_file import ConfigFile, following
from tailfin.broker.storing import REAL_QUEUE, REAL_TOPIC, WAIT, Draft, put
from tailfin.message import Message
from tailfin.store import Store
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.groups import DelayOffsetSerializeWrapper

log = logging.getLogger("tailfin.broker")

LOOK_EVERY_S = 0.1
BATCH = 64
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def delays_ms(text: str) -> list[int]:
    """Read `messageDelayLevel`: the delay of each level from 1 on."""
    return [int(number) * _UNIT_MS[unit] for number, unit in re.findall(r"(\d+)([smhd])", text)]


class Schedule:
    """Delivers delayed messages."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._store = store
        self._delays = delays_ms(store.config.messageDelayLevel)
        self._file = ConfigFile(folder / "delayOffset.json", DelayOffsetSerializeWrapper)
        self._version = DataVersion()
        self._offsets: dict[int, int] = {}
        self._persisted: dict[int, int] = {}

    @property
    def level_max(self) -> int:
        """The highest level; a higher one in a message means this."""
        return len(self._delays)

    def load(self) -> None:
        """Read how far each level is."""
        if content := self._file.read():
            self._offsets = dict(content.offset_table)
            self._version = content.data_version or self._version
        for level in range(1, self.level_max + 1):
            low = self._store.min_offset(names.SCHEDULE_TOPIC, level - 1)
            high = self._store.max_offset(names.SCHEDULE_TOPIC, level - 1)
            if level in self._offsets and not low <= self._offsets[level] <= high:
                log.warning(
                    "delayOffset.json has level %d at %d, the queue has %d to %d: going on within it",
                    level,
                    self._offsets[level],
                    low,
                    high,
                )
            self._offsets[level] = min(max(self._offsets.get(level, low), low), high)
        self._persisted = dict(self._offsets)

    def snapshot(self) -> DelayOffsetSerializeWrapper:
        """Return the offsets as the file holds them."""
        moved = {level: offset for level, offset in self._offsets.items() if offset}
        return DelayOffsetSerializeWrapper(offset_table=moved, data_version=self._version)

    def persist_if_changed(self) -> None:
        """Write the file when a message was delivered since the last time."""
        if self._offsets != self._persisted:
            self._version = following(self._version)
            self._file.write(self.snapshot())
            self._persisted = dict(self._offsets)

    def progress(self) -> dict[int, tuple[int, int]]:
        """Return where each level is, and where its queue ends."""
        return {
            level: (offset, self._store.max_offset(names.SCHEDULE_TOPIC, level - 1))
            for level, offset in sorted(self._offsets.items())
        }

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            for level in range(1, self.level_max + 1):
                try:
                    await self._deliver(level)
                except Exception:
                    log.exception("delivery of delay level %d failed; it is tried again", level)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _deliver(self, level: int) -> None:
        queue_id, delay = level - 1, self._delays[level - 1]
        while True:
            offset = self._offsets[level]
            if self._store.max_offset(names.SCHEDULE_TOPIC, queue_id) <= offset:
                return
            for physical, _, due in self._store.queue_units(names.SCHEDULE_TOPIC, queue_id, offset, BATCH):
                now = time.time_ns() // 1_000_000
                # A time further off than the level allows is a clock's mistake, not a reason to wait.
                if now < due <= now + delay:
                    return
                message = self._store.message_at(physical)
                if message is not None and not await self._release(message):
                    return
                self._offsets[level] += 1

    async def _release(self, message: Message) -> bool:
        properties = message.properties
        topic = properties.get(REAL_TOPIC)
        queue = properties.get(REAL_QUEUE, "0")
        if not topic or not queue.isdecimal() or topic == names.HALF_TOPIC:
            log.error("delayed message %s does not say where it belongs; it is left out", message.message_id)
            return True
        properties[WAIT] = "false"
        draft = Draft.again(message, topic=topic, queue_id=int(queue), properties=properties)
        outcome = await put(self._store, draft)
        if not outcome.stored:
            log.warning(
                "a delayed message for %s was not stored (%s); it is tried again", topic, outcome.remark
            )
        return outcome.stored
