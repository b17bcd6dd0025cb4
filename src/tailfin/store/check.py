"""Whether the files of a store agree with the format and with each other.

Every record is checked by itself (structure, CRC) and against its queue's unit; every unit and every index
entry against its record. A store that was not closed needs recovery: queues that end before the log does,
or a torn last record, are then no damage but what recovery repairs.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tailfin._engine import Message, OfflineLog, java_hash
from tailfin.config.store import StoreConfig
from tailfin.store import offline
from tailfin.store.offline import IndexFile, Queue, StoreFiles

TRANSACTION_MASK, COMMITTED, ROLLED_BACK = 0xC, 0x8, 0xC
INNER_BATCH = 0x80
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
DAY_MS = 86_400_000

Progress = Callable[[str, int, int], None]
"""Called with what is being read, how far, and of how much."""


class Finding(NamedTuple):
    """One thing worth saying."""

    damage: bool
    where: str
    what: str


@dataclass(slots=True)
class _Behind:
    """Records behind the end of their queue."""

    count: int
    queue_offset: int
    physical_offset: int


@dataclass(slots=True)
class _Tally:
    """What the scan of the log knows of one queue."""

    queue: Queue
    first_physical: int
    last_physical: int
    matched: int = 0
    superseded: int = 0
    unwritten: int = 0
    behind: _Behind | None = None


@dataclass
class Check:
    """One check of one store."""

    files: StoreFiles
    config: StoreConfig = field(default_factory=StoreConfig)
    progress: Progress = lambda what, done, total: None
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.log = OfflineLog(str(self.files.log))
        self.log_files = [(start, size, path) for start, size, path in self.log.files()]
        self.unclosed = self.files.abort.exists()
        self.running = bool(offline.lock_held(self.files.lock))
        self.mendable = self.unclosed or self.running
        self.end = self.log.min_offset
        self._tallies: dict[tuple[str, int], _Tally] = {}
        self._no_queue: Counter[str] = Counter()
        self._hashes: dict[str, int] = {}

    def run(self) -> Iterator[Finding]:
        """Yield what is found, damage and information."""
        if self.running:
            yield Finding(False, str(self.files.lock), "a store is running here; its newest data may differ")
        elif self.unclosed:
            yield Finding(False, str(self.files.abort), "the store was not closed: it needs recovery")
        for queue in offline.queues(self.files.queues):
            edges = queue.edges()
            first, last = (unit.physical_offset for unit in edges) if edges else (0, -1)
            self._tallies[queue.topic, queue.queue_id] = _Tally(queue, first, last)
        yield from self._log_files()
        yield from self._records()
        for tally in self._tallies.values():
            yield from self._queue(tally)
        for topic, count in sorted(self._no_queue.items()):
            what = f"{count} records of {topic!r} have no queue: a deleted topic, or one to rebuild"
            yield Finding(False, str(self.files.queues / topic), what)
        for path in offline.index_paths(self.files.index):
            yield from self._index(path)
        yield from self._checkpoint()

    # The log

    def _log_files(self) -> Iterator[Finding]:
        for (start, size, _), (following, _, path) in zip(self.log_files, self.log_files[1:], strict=False):
            if start + size != following:
                yield Finding(True, path, f"the file before ends at {start + size}, not at {following}")

    def _records(self) -> Iterator[Finding]:
        offset, first = self.log.min_offset, self.log.min_offset
        total = self.log.end_of_files - first
        last: Message | None = None
        while True:
            messages, next_offset, damage = self.log.scan(offset)
            for message in messages:
                if findings := self._record(message):
                    yield from findings
            self.counts["records"] += len(messages)
            if messages:
                self.end = messages[-1].physical_offset + messages[-1].size
            if damage is not None:
                after = self._resumes_at(next_offset, messages[-1] if messages else last)
                torn = after is None and not self._is_expected(next_offset)
                what = f"{damage}: unused, or what a crash left behind the end" if torn else damage
                yield Finding(not torn, self._log_place(next_offset), what)
                if after is None:
                    return
                next_offset = after
            elif not messages:
                return
            offset = next_offset
            last = messages[-1] if messages else last
            self.progress("log", offset - first, total)

    def _is_expected(self, offset: int) -> bool:
        """Tell whether a queue knows of a record at an offset or behind it."""
        if self.mendable:
            return False  # recovery cuts queues back to the log
        return any(tally.last_physical >= offset for tally in self._tallies.values())

    def _resumes_at(self, offset: int, last: Message | None) -> int | None:
        """Find where the log goes on after damage; None when it ended there.

        Recovery cuts a log by forgetting what is behind the cut, not by erasing it. What is left there may
        look intact, but it is older than the records before it, or no queue knows of it.
        """
        after = self.log.next_record(offset)
        if after is None or after <= offset:
            return None
        if any(tally.last_physical >= after for tally in self._tallies.values()):
            return after
        message = self.log.message_at(after)
        if message is None or not self.mendable:
            return None
        newer = last is None or message.store_timestamp >= last.store_timestamp
        return after if newer else None

    def _record(self, message: Message) -> list[Finding]:
        sys_flag = message.sys_flag
        # Prepared and rolled back records stand in no queue, and inner batches in one of another kind.
        if sys_flag & TRANSACTION_MASK not in (0, COMMITTED) or sys_flag & INNER_BATCH:
            return []
        findings = []
        topic, queue_id = message.topic, message.queue_id
        tally = self._tallies.get((topic, queue_id))
        if tally is None:
            self._no_queue[topic] += 1
        elif finding := self._unit_of(message, tally, message.queue_offset):
            findings.append(finding)
        names = message.get_property("INNER_MULTI_DISPATCH")
        if names:
            offsets = (message.get_property("INNER_MULTI_QUEUE_OFFSET") or "").split(",")
            for name, text in zip(names.split(","), offsets, strict=False):
                light = self._tallies.get((name, 0 if name.startswith("%LMQ%") else queue_id))
                if light and text.isdecimal() and (finding := self._unit_of(message, light, int(text))):
                    findings.append(finding)
        return findings

    def _unit_of(self, message: Message, tally: _Tally, queue_offset: int) -> Finding | None:
        physical, size, queue = message.physical_offset, message.size, tally.queue
        unit = queue.unit(queue_offset)
        if unit is not None and unit[1] == physical and unit[2] == size:
            tally.matched += 1
            if self._tags_match(message, queue, unit.tags_code):
                return None
            return Finding(True, queue.at(queue_offset), f"not the tag hash of the record at {physical}")
        if physical < tally.first_physical and queue_offset >= queue.first_offset:
            # The topic was deleted and made again: its queue counts from 0 once more.
            tally.superseded += 1
            return None
        if unit is not None and self.mendable and not any(unit[1:]):
            # Pages reach the disk in any order: a power cut may leave a hole, which recovery fills.
            tally.unwritten += 1
            return None
        if unit is None and queue_offset >= queue.end_offset:
            if tally.behind is None:
                tally.behind = _Behind(0, queue_offset, physical)
            tally.behind.count += 1
            return None
        found = "no unit" if unit is None else f"offset {unit.physical_offset}, size {unit.size}"
        what = f"the record at {physical}, size {size}, is number {queue_offset} here; found {found}"
        return Finding(True, queue.at(queue_offset), what)

    def _tags_match(self, message: Message, queue: Queue, tags_code: int) -> bool:
        tags = message.tags or ""
        if queue.topic == SCHEDULE_TOPIC and message.get_property("DELAY"):
            return True  # a delivery time, which depends on the delay levels of that day
        if tags_code <= offline.EXT_ADDRESS_MAX:
            found = offline.ext_tags_code(self.files.queue_exts, queue, tags_code)
            if found is None:
                return False
            tags_code = found
        if tags not in self._hashes:
            if len(self._hashes) > 10_000:
                self._hashes.clear()
            self._hashes[tags] = java_hash(tags)
        return tags_code == self._hashes[tags]

    def _log_place(self, offset: int) -> str:
        for start, size, path in self.log_files:
            if start <= offset < start + size:
                return f"{path}: position {offset - start} (offset {offset})"
        return f"{self.files.log}: offset {offset}"

    # The queues

    def _queue(self, tally: _Tally) -> Iterator[Finding]:
        queue, least = tally.queue, self.log.min_offset
        yield from self._queue_files(queue)
        last, live, count, end = -1, 0, 0, self.end
        for number, physical, size, _ in queue.units():
            count += 1
            if size <= 0 or physical < 0:
                if not (self.mendable and size == physical == 0):
                    yield Finding(True, queue.at(number), "an empty unit between others")
            elif physical <= last:
                yield Finding(True, queue.at(number), f"offset {physical} comes after {last}")
            elif physical >= end:
                what = f"points to offset {physical}, behind the log's last record"
                yield Finding(not self.mendable, queue.at(number), what)
            elif physical >= least:
                live += 1
            if physical > last:
                last = physical
        self.counts["units"] += count
        self.progress("queues", self.counts["units"], 0)
        if live != tally.matched:
            yield from self._unmatched(queue)
        if tally.superseded:
            what = f"{tally.superseded} records are of an earlier topic of that name, which was deleted"
            yield Finding(False, str(queue.folder), what)
        if tally.behind is not None:
            what = (
                f"{tally.behind.count} records, from number {tally.behind.queue_offset} of {queue.name} on,"
            )
            yield Finding(
                not self.mendable,
                self._log_place(tally.behind.physical_offset),
                f"{what} have no unit yet; the queue ends at {queue.end_offset}",
            )

    def _queue_files(self, queue: Queue) -> Iterator[Finding]:
        for file, following in zip(queue.files, queue.files[1:], strict=False):
            if file.start + file.path.stat().st_size != following.start:
                yield Finding(True, str(following.path), "the file before does not end where this one begins")

    def _unmatched(self, queue: Queue) -> Iterator[Finding]:
        """Find the units whose records are not there, once it is known that there are some."""
        for unit in queue.units():
            if not self.log.min_offset <= unit.physical_offset < self.end:
                continue
            message = self.log.message_at(unit.physical_offset)
            if message is None:
                what = f"points to offset {unit.physical_offset}, where no intact record begins"
            elif message.size != unit.size:
                continue  # said already, when its record was read
            elif not self._belongs(message, queue, unit.queue_offset):
                what = (
                    f"points to offset {unit.physical_offset}, a record of {message.topic}/{message.queue_id}"
                )
                what += f" number {message.queue_offset}"
            else:
                continue
            yield Finding(True, queue.at(unit.queue_offset), what)

    @staticmethod
    def _belongs(message: Message, queue: Queue, queue_offset: int) -> bool:
        if (message.topic, message.queue_id, message.queue_offset) == (
            queue.topic,
            queue.queue_id,
            queue_offset,
        ):
            return True
        return queue.topic in (message.get_property("INNER_MULTI_DISPATCH") or "").split(",")

    # The index and the checkpoint

    def _index(self, path: Path) -> Iterator[Finding]:
        try:
            index = IndexFile(path, self.config)
        except ValueError as error:
            yield Finding(not self.unclosed, str(path), str(error))
            return
        if index.slots is None:
            if index.entry_count:
                what = "no number of slots makes sense of its entries (a setting of --config may help)"
                yield Finding(not self.mendable, str(path), what)
            return
        newest: dict[int, int] = {}
        hashes: tuple[int, frozenset[int]] = (-1, frozenset())
        for number, key, physical, _, previous in index.entries():
            slot = key % index.slots
            if key < 0 or previous != newest.get(slot, 0):
                what = f"entry {number} breaks the chain of its slot"
                yield Finding(True, f"{path}: position {index.position(number)}", what)
            newest[slot] = number
            if hashes[0] != physical:
                hashes = (physical, self._key_hashes(physical))
            if key not in hashes[1] and physical >= self.log.min_offset:
                beyond = physical >= self.end
                what = "behind the log's last record" if beyond else "where no record has such a key"
                yield Finding(
                    not (beyond and self.mendable),
                    f"{path}: position {index.position(number)}",
                    f"points to offset {physical}, {what}",
                )
            if number % 65_536 == 0:
                self.progress("index", number, index.entry_count)
        self.counts["index entries"] += index.entry_count
        for slot, number in enumerate(index.slot_table()):
            if number != newest.get(slot, 0) and not self.running:
                where = f"{path}: position {offline.INDEX_HEADER.size + slot * 4}"
                what = f"slot {slot} begins at entry {number}, not at {newest.get(slot, 0)}"
                # Slots and header reach the disk in any order; recovery drops such a file and rebuilds it.
                yield Finding(not self.unclosed, where, what)

    def _key_hashes(self, physical_offset: int) -> frozenset[int]:
        if not self.log.min_offset <= physical_offset < self.end:
            return frozenset()
        message = self.log.message_at(physical_offset)
        if message is None:
            return frozenset()
        # RocketMQ 5.5.0 enters tags too; the index of an older store (5.3) has none of them.
        tags = f"T#{message.tags}" if message.tags else ""
        keys = [message.unique_key or "", *(message.keys or "").split(" "), tags]
        return frozenset(key_hash(message.topic, key) for key in keys if key)

    def _checkpoint(self) -> Iterator[Finding]:
        path = self.files.checkpoint
        if not path.is_file():
            yield Finding(False, str(path), "there is no checkpoint: recovery will read the whole log")
            return
        if (size := path.stat().st_size) != offline.CHECKPOINT_BYTES:
            yield Finding(True, str(path), f"{size} bytes instead of {offline.CHECKPOINT_BYTES}")
        point = offline.checkpoint(path)
        if point is None:
            return
        latest = time.time() * 1000 + DAY_MS
        for index, (name, value) in enumerate(point._asdict().items()):
            if value < 0 or (name.endswith("timestamp") and value > latest):
                yield Finding(True, f"{path}: position {index * 8}", f"{name} {value} makes no sense")


def key_hash(topic: str, key: str) -> int:
    """Hash a key as the index does: the absolute value, and 0 for the one number that has none."""
    value = abs(java_hash(f"{topic}#{key}"))
    return value if value <= 0x7FFFFFFF else 0
