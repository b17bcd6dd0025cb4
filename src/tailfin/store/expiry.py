"""Which files of a store go, and when.

`plan` decides: it looks at the clock, the log's files, the disk and what it remembers, and touches nothing.
`Cleaner` measures, asks it, and carries its answer out.

| disk used                          | what happens |
|------------------------------------|--------------|
| up to diskMaxUsedSpaceRatio        | expired files go at the hours of deleteWhen |
| above it                           | expired files go at any hour |
| above diskSpaceCleanForciblyRatio  | the oldest go, expired or not (cleanFileForciblyEnable) |
| above diskSpaceWarningLevelRatio   | also: no appends, until use is back at the forced ratio or below |

A file expires `fileReservedTime` hours after its last change, whether or not its messages were consumed.
The oldest go first, the first one that stays ends the round, and the last file is never touched.
"""

import logging
import math
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tailfin.config.store import StoreConfig

log = logging.getLogger("tailfin.store")

HOUR_MS = 3_600_000
MANUAL_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of the commit log."""

    start: int
    size: int
    modified_ms: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """How full the partitions are, from 0 to 1; negative when it cannot be told."""

    log: float
    queues: float


@dataclass(frozen=True, slots=True)
class State:
    """What one round remembers for the next."""

    manual_rounds: int = 0
    log_full: bool = False
    queues_full: bool = False
    held_start: int | None = None
    """The first file, when it had to go and a reader held it."""
    held_since_ms: int = 0
    held_tried_ms: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round does."""

    state: State
    delete: tuple[int, ...] = ()
    """Starts of the files that go, oldest first."""
    even_if_held: bool = False
    """Whether the first of them goes though a reader holds it."""
    why: str = ""
    """`time`, `space`, `manual` or `held`: what set the round off; empty when nothing did."""
    short_of_space: bool = False


def plan(now_ms: int, files: Sequence[LogFile], disk: Disk, config: StoreConfig, state: State) -> Plan:
    """Decide one round of cleaning."""
    state = replace(
        state,
        log_full=_full(disk.log, config, state.log_full),
        queues_full=_full(disk.queues, config, state.queues_full),
    )
    short = _short(disk, config)
    if datetime.fromtimestamp(now_ms / 1000).hour in config.delete_hours():
        why = "time"
    elif short:
        why = "space"
    elif state.manual_rounds > 0:
        why = "manual"
    else:
        return _held_only(now_ms, files, config, state)
    if state.manual_rounds > 0:
        state = replace(state, manual_rounds=state.manual_rounds - 1)
    forced = (
        config.cleanFileForciblyEnable
        and max(disk.log, disk.queues) > config.diskSpaceCleanForciblyRatio / 100
    )
    delete: list[int] = []
    for file in files[:-1]:
        expired = now_ms >= file.modified_ms + config.fileReservedTime * HOUR_MS
        if not (expired or forced) or len(delete) == config.deleteFileBatchMax:
            break
        delete.append(file.start)
    even_if_held = bool(delete) and _held_long_enough(now_ms, delete[0], config, state)
    return Plan(state, tuple(delete), even_if_held, why, short)


def _full(used: float, config: StoreConfig, was_full: bool) -> bool:
    """Raise the mark above the warning level, clear it at the forced level; between them it stays."""
    if used > config.diskSpaceWarningLevelRatio / 100:
        return True
    return was_full and used > config.diskSpaceCleanForciblyRatio / 100


def _short(disk: Disk, config: StoreConfig) -> bool:
    # A partition that cannot be measured counts as short; a maximum above the forced ratio does not delay it.
    limit = min(config.diskMaxUsedSpaceRatio, config.diskSpaceCleanForciblyRatio)
    return min(disk.log, disk.queues) < 0 or max(disk.log, disk.queues) > limit / 100


def _held_only(now_ms: int, files: Sequence[LogFile], config: StoreConfig, state: State) -> Plan:
    """Outside the hours only a file that already had to go, and was held, is tried again."""
    if state.held_start is None or len(files) < 2 or files[0].start != state.held_start:
        return Plan(replace(state, held_start=None))
    if now_ms - state.held_tried_ms <= config.redeleteHangedFileInterval:
        return Plan(state)
    even_if_held = _held_long_enough(now_ms, files[0].start, config, state)
    return Plan(replace(state, held_tried_ms=now_ms), (files[0].start,), even_if_held, "held")


def _held_long_enough(now_ms: int, start: int, config: StoreConfig, state: State) -> bool:
    waited = now_ms - state.held_since_ms
    return state.held_start == start and waited >= config.destroyMapedFileIntervalForcibly


class Cleanable(Protocol):
    """What the cleaner needs of a store."""

    @property
    def min_physical_offset(self) -> int:
        """Start of the log."""

    def log_files(self) -> list[tuple[int, int, int, bool]]:
        """Start, size, last change, held."""

    def delete_first_log_file(self, *, even_if_held: bool = False) -> bool:
        """Delete the oldest file."""

    def delete_expired_queue_files(self) -> int:
        """Delete what points before the log's start."""

    def set_writable(self, reason: str, writable: bool) -> None:
        """Raise or clear a running flag."""


def disk_use(config: StoreConfig) -> Disk:
    """Measure the partitions of the log and of the queues."""
    paths = config.paths()
    return Disk(used(paths["storePathCommitLog"]), used(paths["storePathConsumeQueue"]))


def used(path: Path) -> float:
    """Return how full the partition of a path is; -1 when that cannot be told."""
    for place in (path, *path.parents):
        if place.exists():
            try:
                usage = shutil.disk_usage(place)
            except OSError:
                return -1.0
            # As in `df`, what root reserves does not count; as in RocketMQ, a begun percent counts whole.
            reachable = usage.used + usage.free
            return math.ceil(usage.used * 100 / reachable) / 100 if reachable else -1.0
    return -1.0


class Cleaner:
    """Carries out `plan` on a store, one round at a time."""

    def __init__(
        self,
        config: StoreConfig,
        *,
        clock: Callable[[], float] = time.time,
        disk: Callable[[StoreConfig], Disk] = disk_use,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.config = config
        self.state = State()
        self._clock = clock
        self._disk = disk
        self._pause = pause
        self._swept_to: int | None = None
        self._lock = threading.Lock()

    def request(self) -> None:
        """Ask for cleaning whatever the hour: of expired files, in this and the next rounds."""
        self.state = replace(self.state, manual_rounds=MANUAL_ROUNDS)

    def run(self, store: Cleanable) -> int:
        """Do one round; return how many log files went."""
        with self._lock:
            files = [LogFile(*file) for file in store.log_files()]
            before = self.state
            decided = plan(int(self._clock() * 1000), files, self._disk(self.config), self.config, before)
            self.state = decided.state
            self._mark(store, "disk_full", before.log_full, decided.state.log_full)
            self._mark(store, "logic_disk_full", before.queues_full, decided.state.queues_full)
            gone = self._delete(store, decided)
            # Queues and index follow the log, and only when it moved.
            if self._swept_to != (start := store.min_physical_offset):
                if swept := store.delete_expired_queue_files():
                    log.info("deleted %d queue and index files before offset %d", swept, start)
                self._swept_to = start
            return gone

    def _mark(self, store: Cleanable, flag: str, before: bool, after: bool) -> None:
        if before == after:
            return
        store.set_writable(flag, not after)
        if after:
            log.error("%s: the disk is nearly full, appends are refused", flag)
        else:
            log.info("%s: the disk has room again", flag)

    def _delete(self, store: Cleanable, decided: Plan) -> int:
        gone = 0
        for start in decided.delete:
            if gone:
                self._pause(self.config.deleteCommitLogFilesInterval / 1000)
            if not store.delete_first_log_file(even_if_held=decided.even_if_held and not gone):
                # What is not flushed or dispatched yet stays too, but only a reader is worth remembering.
                if any(first == start and held for first, _, _, held in store.log_files()):
                    self._remember_held(start)
                break
            gone += 1
            log.info("deleted log file %020d (%s)", start, decided.why)
        if decided.short_of_space and not gone:
            log.warning("the disk is short of space, and no log file could be deleted")
        return gone

    def _remember_held(self, start: int) -> None:
        now_ms = int(self._clock() * 1000)
        if self.state.held_start != start:
            self.state = replace(self.state, held_start=start, held_since_ms=now_ms, held_tried_ms=now_ms)
            log.warning("log file %020d has to go, but a reader holds it", start)
