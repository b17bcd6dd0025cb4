"""The settings of a log store: RocketMQ's `MessageStoreConfig`, as far as the store acts on it."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Self

from tailfin.config import properties
from tailfin.config.setting import LONG_MAX, ConfigError, Settings, policy, respelt, setting

_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIMER_STEPS = (100, 200, 500, 1000)
_FLUSHES = ("ASYNC_FLUSH", "SYNC_FLUSH")
_ROLES = ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE")
_CLEANING = (
    "cleanResourceInterval",
    "deleteWhen",
    "fileReservedTime",
    "deleteFileBatchMax",
    "deleteCommitLogFilesInterval",
    "destroyMapedFileIntervalForcibly",
    "redeleteHangedFileInterval",
    "cleanFileForciblyEnable",
    "diskMaxUsedSpaceRatio",
    "diskSpaceCleanForciblyRatio",
    "diskSpaceWarningLevelRatio",
    "debugLockEnable",
)


@dataclass(frozen=True, kw_only=True)
class StoreConfig(Settings):
    """How a store works: RocketMQ's key names, RocketMQ's defaults, one line each.

    Times are milliseconds and sizes bytes unless the line says otherwise. An empty path follows from
    `storePathRootDir`. `storeHost`, `storePathConsumeQueueExt` and `lockFile` are Tailfin's own.
    """

    # Where
    storePathRootDir: str = policy("", "Directory of the store; empty: ~/store.")
    storePathCommitLog: str = setting("", "Directory of the log; empty: commitlog in the root.")
    storePathConsumeQueue: str = setting("", "Directory of the queues; empty: consumequeue.")
    storePathConsumeQueueExt: str = setting("", "Directory of their extensions; empty: consumequeue_ext.")
    storePathIndex: str = setting("", "Directory of the index files; empty: index.")
    storeCheckpoint: str = setting("", "The checkpoint file; empty: checkpoint.")
    abortFile: str = setting("", "The file that marks a running store; empty: abort.")
    lockFile: str = setting("", "The file that keeps a second store out; empty: lock.")
    storeHost: str = setting("127.0.0.1:10911", "The address:port written into records and message ids.")

    # Files
    mappedFileSizeCommitLog: int = setting(1 << 30, "Size of a commit log file.", low=1024)
    mappedFileSizeConsumeQueue: int = setting(6_000_000, "Size of a queue file.", low=20, multiple_of=20)
    enableConsumeQueueExt: bool = setting(False, "Keep store time and filter bits beside the queue.")
    mappedFileSizeConsumeQueueExt: int = setting(48 << 20, "Size of a queue extension file.", low=64)
    messageIndexEnable: bool = setting(True, "Index messages by key.")
    messageIndexSafe: bool = setting(False, "Let the index's checkpoint decide too where recovery begins.")
    maxHashSlotNum: int = setting(5_000_000, "Hash slots of an index file.", low=1)
    maxIndexNum: int = setting(20_000_000, "Entries of an index file.", low=2)

    # What a message may be
    maxMessageSize: int = setting(4 << 20, "Longest message.", low=1)
    maxTopicLength: int = setting(127, "Longest topic name.", low=1, high=255)
    autoMessageVersionOnTopicLen: bool = setting(True, "Longer topic names in record version 2.")
    enabledAppendPropCRC: bool = setting(False, "End each record with a CRC over all of it.")
    forceVerifyPropCRC: bool = setting(False, "Recovery asks for that CRC instead of the body's.")
    maxMsgsNumBatch: int = setting(64, "Most messages a query by key returns.", low=1)
    messageDelayLevel: str = setting(_LEVELS, "Delay of each level, from level 1 on.")
    enableLmq: bool = setting(False, "Light queues: names that begin with %LMQ%.")
    enableMultiDispatch: bool = setting(False, "One message in several queues, named by a property.")
    maxLmqConsumeQueueNum: int = setting(20_000, "Most light queues.")

    # Reaching the disk
    flushDiskType: str = setting(
        "ASYNC_FLUSH", "What an append waits for: memory, or the disk.", choices=_FLUSHES
    )
    syncFlushTimeout: int = setting(5000, "Longest wait for the disk before FLUSH_DISK_TIMEOUT.")
    flushIntervalCommitLog: int = setting(500, "Time between flushes of the log.", low=1)
    flushCommitLogLeastPages: int = setting(4, "Pages of 4 KiB that make a flush worthwhile.")
    flushCommitLogThoroughInterval: int = setting(10_000, "Flush whatever there is after this time.")
    flushCommitLogTimed: bool = setting(True, "Flush by the clock only, not when woken by an append.")
    flushIntervalConsumeQueue: int = setting(1000, "Time between flushes of the queues.", low=1)
    flushConsumeQueueLeastPages: int = setting(2, "Pages that make a queue's flush worthwhile.")
    flushConsumeQueueThoroughInterval: int = setting(60_000, "Flush all queues after this time.")
    checkCRCOnRecover: bool = setting(True, "Check the CRC of bodies when recovering.")

    # Memory
    transientStorePoolEnable: bool = setting(False, "Append to locked memory first, then commit to the file.")
    transientStorePoolSize: int = setting(5, "Buffers of that pool, each of the log's file size.", low=1)
    fastFailIfNoBufferInStorePool: bool = setting(False, "Refuse at once when the pool has no buffer left.")
    commitIntervalCommitLog: int = setting(200, "Time between commits from the pool.", low=1)
    commitCommitLogLeastPages: int = setting(4, "Pages that make a commit worthwhile.")
    commitCommitLogThoroughInterval: int = setting(200, "Commit whatever there is after this time.")
    warmMapedFileEnable: bool = setting(False, "Touch and lock the pages of a new log file.")
    flushLeastPagesWhenWarmMapedFile: int = setting(4096, "Pages touched between two flushes.", low=1)
    osPageCacheBusyTimeOutMills: int = setting(
        1000, "Lock time that makes appends answer busy.", high=LONG_MAX
    )

    # Reading
    maxTransferBytesOnMessageInMemory: int = setting(
        256 << 10, "Most bytes of a read, recent messages.", low=1
    )
    maxTransferCountOnMessageInMemory: int = setting(32, "Most messages of a read, recent ones.", low=1)
    maxTransferBytesOnMessageInDisk: int = setting(64 << 10, "Most bytes of a read, old messages.", low=1)
    maxTransferCountOnMessageInDisk: int = setting(8, "Most messages of a read, old ones.", low=1)
    accessMessageInMemoryMaxRatio: int = setting(40, "Percent of memory for recent messages.", high=100)

    # Role
    brokerRole: str = setting("ASYNC_MASTER", "A SLAVE refuses appends.", choices=_ROLES)

    # Waiting messages
    timerMaxDelaySec: int = policy(3 * 86_400, "Seconds a timed message may wait at most.", low=1)
    timerPrecisionMs: int = policy(1000, "Timed messages go on in steps of 100, 200, 500 or 1000 ms.", low=1)
    timerRollWindowSlot: int = policy(172_800, "Steps after which a waiting message is stored anew.")
    timerCongestNumEachSlot: int = policy(2**31 - 1, "Messages for one step beyond which some are refused.")
    timerStopEnqueue: bool = policy(False, "Take no more messages into the timer's wheel.")
    timerStopDequeue: bool = policy(False, "Let no timed message go on.")
    timerFlushIntervalMs: int = policy(1000, "Time between two writes of the timer's state.", low=1)
    mappedFileSizeTimerLog: int = policy(100 << 20, "Size of a timer log file.", low=1024)
    flushDelayOffsetInterval: int = policy(10_000, "Time between two writes of delayOffset.json.", low=1)

    # Cleaning
    cleanResourceInterval: int = policy(10_000, "Time between two rounds of cleaning.", low=1)
    deleteWhen: str = policy("04", "Hours of the day at which expired files go, joined by ';'.")
    fileReservedTime: int = policy(72, "Hours a log file is kept after its last change.")
    deleteFileBatchMax: int = policy(10, "Most log files deleted in one round.", low=1)
    deleteCommitLogFilesInterval: int = policy(100, "Pause between two deletions.")
    destroyMapedFileIntervalForcibly: int = policy(120_000, "Delete a held file after this time.")
    redeleteHangedFileInterval: int = policy(120_000, "Time between tries at a held file.")
    cleanFileForciblyEnable: bool = policy(True, "Delete unexpired files too when space is short.")
    diskMaxUsedSpaceRatio: int = policy(75, "Percent: expired files go at any hour.", clamp=(10, 95))
    diskSpaceCleanForciblyRatio: int = policy(85, "Percent: the oldest files go.", clamp=(30, 85))
    diskSpaceWarningLevelRatio: int = policy(90, "Percent: appends are refused.", clamp=(35, 90))
    debugLockEnable: bool = policy(False, "Log all stacks when the append lock is held for over 1 s.")

    def __post_init__(self) -> None:
        """Check each value, then those that have a form of their own."""
        super().__post_init__()
        self.delete_hours()
        self.delays_ms()
        host, _, port = self.storeHost.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"storeHost must be address:port, not {self.storeHost!r}")
        if "," in self.storePathCommitLog:
            raise ConfigError("storePathCommitLog must be one directory, not several joined by ','")

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object], **settings: object) -> Self:
        """Take the settings from a file like `broker.conf` or from a mapping; keywords win over both."""
        if isinstance(source, str | Path):
            try:
                values: Mapping[str, object] = properties.read(source)
            except ValueError as error:
                raise ConfigError(f"{source}: {error}") from None
        else:
            values = source
        return cls.of(values).changed(**settings)

    def changed(self, **settings: object) -> Self:
        """Return a copy with other values for some keys, in either spelling."""
        if not settings:
            return self
        # Only what was named is taken over, so that a default of the new object does not undo a given value.
        other = type(self).of(settings)
        keys = [respelt(key, self.keys()) for key in settings]
        return replace(self, **{key: getattr(other, key) for key in keys if key})

    def cleaned_like(self, other: Self) -> Self:
        """Return a copy with another's settings for cleaning."""
        return replace(self, **{key: getattr(other, key) for key in _CLEANING})

    def delete_hours(self) -> frozenset[int]:
        """Return the hours of `deleteWhen`."""
        hours = [part.strip() for part in self.deleteWhen.split(";") if part.strip()]
        if not hours or not all(hour.isdecimal() and int(hour) < 24 for hour in hours):
            raise ConfigError(f"deleteWhen must be hours like 04 or 04;16, not {self.deleteWhen!r}")
        return frozenset(map(int, hours))

    def delays_ms(self) -> list[int]:
        """Return the delay of each level of `messageDelayLevel`, level 1 first."""
        delays = [re.fullmatch(r"(\d{1,9})([smhd])", text) for text in self.messageDelayLevel.split()]
        for delay, text in zip(delays, self.messageDelayLevel.split(), strict=True):
            if delay is None or int(delay[1]) == 0:
                raise ConfigError(f"messageDelayLevel must list delays like 10s, 5m, 2h or 1d, not {text!r}")
        return [int(delay[1]) * _UNIT_MS[delay[2]] for delay in delays if delay]

    def timer_precision(self) -> int:
        """Return the step of the timer's wheel: the one that RocketMQ takes `timerPrecisionMs` for."""
        return max((step for step in _TIMER_STEPS if step <= self.timerPrecisionMs), default=_TIMER_STEPS[0])

    def paths(self) -> dict[str, Path]:
        """Return every path by its key, derived from the root where none is given."""
        root = Path(self.storePathRootDir).expanduser() if self.storePathRootDir else Path.home() / "store"
        derived = {
            "storePathRootDir": ".",
            "storePathCommitLog": "commitlog",
            "storePathConsumeQueue": "consumequeue",
            "storePathConsumeQueueExt": "consumequeue_ext",
            "storePathIndex": "index",
            "storeCheckpoint": "checkpoint",
            "abortFile": "abort",
            "lockFile": "lock",
        }
        named = {key: getattr(self, key) for key in derived if key != "storePathRootDir"}
        return {
            key: (Path(named[key]).expanduser() if named.get(key) else root / name).absolute()
            for key, name in derived.items()
        }

    def engine_options(self) -> dict[str, int | bool | str | list[int]]:
        """Return what the engine asks for: its keys and no others, with paths filled in and delays in ms."""
        paths = self.paths()
        values = {**asdict(self), "messageDelayLevel": self.delays_ms()}
        return {
            each.name: str(paths[each.name]) if each.name in paths else values[each.name]
            for each in fields(self)
            if each.metadata["rule"].engine
        }
