"""The files of a store, read without opening it: no lock is taken and nothing is written.

Works on Tailfin's and on Java's directories alike. Records of the commit log come from the engine's
`OfflineLog`; queues, index files and the checkpoint are simple enough to be read here.
"""

import contextlib
import errno
import fcntl
import functools
import mmap
import os
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tailfin.config.store import StoreConfig

UNIT = struct.Struct(">qiq")
PRE_BLANK_SIZE = 0x7FFFFFFF
EXT_ADDRESS_MAX = -2147483649
EXT_BASE = -(2**63)
_BLOCK_UNITS = 4096
_LOOK_BACK_BYTES = 1 << 16

INDEX_HEADER = struct.Struct(">qqqqii")
INDEX_ENTRY = struct.Struct(">iqii")
CHECKPOINT = struct.Struct(">qqqqq")
CHECKPOINT_BYTES = 4096

SLOTS_TRIED_MAX = 1_000_000


class NoStore(Exception):
    """The path holds no store."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """Where the parts of a store lie."""

    root: Path
    log: Path
    queues: Path
    queue_exts: Path
    index: Path
    checkpoint: Path
    abort: Path
    lock: Path

    @classmethod
    def find(cls, path: Path, config: StoreConfig | None = None) -> "StoreFiles":
        """Take a store directory, or its `commitlog` folder, apart.

        Raises:
            NoStore: neither is there.
        """
        if not path.is_dir():
            raise NoStore(f"{path} is not a directory")
        root = path.parent if path.name == "commitlog" and not (path / "commitlog").is_dir() else path
        paths = (config or StoreConfig()).changed(storePathRootDir=str(root)).paths()
        found = cls(
            root=root,
            log=paths["storePathCommitLog"],
            queues=paths["storePathConsumeQueue"],
            queue_exts=paths["storePathConsumeQueueExt"],
            index=paths["storePathIndex"],
            checkpoint=paths["storeCheckpoint"],
            abort=paths["abortFile"],
            lock=paths["lockFile"],
        )
        if not found.log.is_dir():
            inside = sorted(str(each.parent) for each in path.glob(f"*/{found.log.name}"))
            hint = f"; did you mean {inside[0]}?" if inside else ""
            raise NoStore(f"{path} holds no store: there is no {found.log.name} folder in it{hint}")
        return found


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """List the files named by 20 digits, in order; others are not the store's."""
    if not folder.is_dir():
        return []
    names = (each for each in folder.iterdir() if len(each.name) == 20 and each.name.isdecimal())
    return sorted((int(each.name), each) for each in names if each.is_file())


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    """Map a file read-only; an empty one is empty bytes."""
    with path.open("rb") as file:
        try:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            yield b""
            return
        with view:
            yield view


class Unit(NamedTuple):
    """One entry of a consume queue."""

    queue_offset: int
    physical_offset: int
    size: int
    tags_code: int


@dataclass(frozen=True, slots=True)
class QueueFile:
    """One file of a consume queue."""

    start: int
    path: Path
    used: int
    """Bytes up to the end of the last unit."""
    name: str
    """The path as text, which hashes faster."""


class Queue:
    """One consume queue: its files, oldest first."""

    def __init__(
        self, topic: str, queue_id: int, folder: Path, blocks: Callable[[str, int], bytes] | None = None
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.folder = folder
        self.files = _queue_files(folder)
        self._last_file: QueueFile | None = None
        self._block = blocks or _blocks()

    @property
    def name(self) -> str:
        """`topic/queue`, as in the directory."""
        return f"{self.topic}/{self.queue_id}"

    @property
    def first_offset(self) -> int:
        """Queue offset of the first unit in the files."""
        return self.files[0].start // UNIT.size if self.files else 0

    @property
    def end_offset(self) -> int:
        """Queue offset after the last unit."""
        return (self.files[-1].start + self.files[-1].used) // UNIT.size if self.files else 0

    def units(self) -> Iterator[Unit]:
        """Yield all units, also empty ones between others, but not those filled in before the first."""
        for file in self.files:
            first = file.start // UNIT.size
            # The file is read, not mapped: 6 MB at a time, and nobody can cut it short meanwhile.
            with file.path.open("rb") as stream:
                data = stream.read(file.used - file.used % UNIT.size)
            for index, (physical, size, tags) in enumerate(UNIT.iter_unpack(data)):
                if physical or size != PRE_BLANK_SIZE:
                    yield Unit(first + index, physical, size, tags)

    def edges(self) -> tuple[Unit, Unit] | None:
        """Return the first and the last unit."""
        first = next(self.units(), None)
        if first is None:
            return None
        last = self.unit(self.end_offset - 1)
        return (first, last) if last else None

    def file_of(self, queue_offset: int) -> QueueFile | None:
        """Return the file in which a unit stands."""
        at = queue_offset * UNIT.size
        index = bisect_right(self.files, at, key=lambda file: file.start) - 1
        if index < 0 or at >= self.files[index].start + self.files[index].used:
            return None
        return self.files[index]

    def unit(self, queue_offset: int) -> Unit | None:
        """Read one unit; neighbours are read with it."""
        at, file = queue_offset * UNIT.size, self._last_file
        if file is None or not file.start <= at < file.start + file.used:
            if (file := self.file_of(queue_offset)) is None:
                return None
            self._last_file = file
        block, index = divmod(at - file.start, _BLOCK_UNITS * UNIT.size)
        data = self._block(file.name, block)
        if len(data) < index + UNIT.size:
            return None
        return Unit(queue_offset, *UNIT.unpack_from(data, index))

    def first_at_or_after(self, physical_offset: int) -> int:
        """Find the queue offset of the first unit that points to an offset of the log or behind it."""

        def points_to(queue_offset: int) -> int:
            unit = self.unit(queue_offset)
            return -1 if unit is None or unit.size == PRE_BLANK_SIZE else unit.physical_offset

        return self.first_offset + bisect_left(
            range(self.first_offset, self.end_offset), physical_offset, key=points_to
        )

    def at(self, queue_offset: int) -> str:
        """Name the place of a unit: file and position."""
        if (file := self.file_of(queue_offset)) is None:
            return f"{self.folder}: unit {queue_offset}"
        return f"{file.path}: position {queue_offset * UNIT.size - file.start}"


def _blocks() -> Callable[[str, int], bytes]:
    """Make a reader that keeps some blocks of units: 80 MB at most, however many queues share it.

    Each survey has its own, so that none sees what a file held at an earlier one.
    """

    @functools.lru_cache(maxsize=1024)
    def read(name: str, block: int) -> bytes:
        with Path(name).open("rb") as stream:
            stream.seek(block * _BLOCK_UNITS * UNIT.size)
            return stream.read(_BLOCK_UNITS * UNIT.size)

    return read


def _queue_files(folder: Path) -> list[QueueFile]:
    paths = numbered(folder)
    used = _used(paths[-1][1]) if paths else 0
    # Files made ahead of need hold nothing yet.
    while len(paths) > 1 and not used:
        paths.pop()
        used = _used(paths[-1][1])
    # Before the last file every unit counts: zeros there are a hole, not the end.
    ends = [*(path.stat().st_size for _, path in paths[:-1]), used]
    return [QueueFile(start, path, end, str(path)) for (start, path), end in zip(paths, ends, strict=False)]


def _used(path: Path) -> int:
    """Find the end of the last unit: files are made at full size, of zeros, which mostly are a hole."""
    with path.open("rb", buffering=0) as file:
        for start, end in reversed(_written(file.fileno())):
            for at in reversed(range(start, end, _LOOK_BACK_BYTES)):
                block = os.pread(file.fileno(), min(_LOOK_BACK_BYTES, end - at), at).rstrip(b"\0")
                if block:
                    return -(-(at + len(block)) // UNIT.size) * UNIT.size
    return 0


def _written(descriptor: int) -> list[tuple[int, int]]:
    """Find the parts of a file that are no holes; all of it where the system does not tell."""
    parts, at, size = [], 0, os.fstat(descriptor).st_size
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:
                parts.append((at, size))
            break
        parts.append((start, end))
        at = end
    return parts


def queues(folder: Path) -> Iterator[Queue]:
    """Yield the queues below the `consumequeue` folder, by topic and number."""
    if not folder.is_dir():
        return
    blocks = _blocks()
    for topic in sorted(each for each in folder.iterdir() if each.is_dir()):
        ids = [each for each in topic.iterdir() if each.is_dir() and each.name.isdecimal()]
        for each in sorted(ids, key=lambda path: int(path.name)):
            yield Queue(topic.name, int(each.name), each, blocks)


def ext_tags_code(folder: Path, queue: Queue, address: int) -> int | None:
    """Look up the tags code of a unit that points into the extension file; None when it points nowhere."""
    position = address - EXT_BASE
    for start, path in reversed(numbered(folder / queue.topic / str(queue.queue_id))):
        if start <= position:
            with path.open("rb") as stream:
                stream.seek(position - start)
                data = stream.read(20)
            if len(data) < 20:
                return None
            size, tags_code = struct.unpack_from(">hq", data)
            return tags_code if size >= 20 else None
    return None


class IndexHeader(NamedTuple):
    """What an index file says of itself."""

    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    slots_used: int
    next_entry: int


class IndexEntry(NamedTuple):
    """One indexed key."""

    number: int
    key_hash: int
    physical_offset: int
    seconds: int
    previous: int


class IndexFile:
    """One index file."""

    def __init__(self, path: Path, config: StoreConfig) -> None:
        self.path = path
        self.size = path.stat().st_size
        with mapped(path) as data:
            if len(data) < INDEX_HEADER.size:
                raise ValueError(f"{len(data)} bytes are too few for an index file")
            self.header = IndexHeader(*INDEX_HEADER.unpack_from(data))
            configured = config.maxHashSlotNum * 4 + config.maxIndexNum * INDEX_ENTRY.size
            as_configured = self.size == INDEX_HEADER.size + configured
            self.slots = config.maxHashSlotNum if as_configured else self._find_slots(data)

    @property
    def entry_count(self) -> int:
        """Keys in the file."""
        return max(0, self.header.next_entry - 1)

    def position(self, number: int) -> int:
        """Return where an entry stands in the file."""
        return INDEX_HEADER.size + (self.slots or 0) * 4 + number * INDEX_ENTRY.size

    def entries(self) -> Iterator[IndexEntry]:
        """Yield the entries in the order they were written."""
        if not self.slots:
            return
        with self.path.open("rb") as stream:
            stream.seek(self.position(1))
            number, left = 1, self.entry_count
            while left > 0:
                block = stream.read(min(left, 50_000) * INDEX_ENTRY.size)
                whole = len(block) // INDEX_ENTRY.size
                if not whole:
                    return
                for fields in INDEX_ENTRY.iter_unpack(block[: whole * INDEX_ENTRY.size]):
                    yield IndexEntry(number, *fields)
                    number += 1
                left -= whole

    def slot_table(self) -> "array[int]":
        """Return the newest entry of each slot."""
        table = array("i")
        with self.path.open("rb") as stream:
            stream.seek(INDEX_HEADER.size)
            table.frombytes(stream.read((self.slots or 0) * 4))
        if sys.byteorder == "little":
            table.byteswap()
        return table

    def _find_slots(self, data: mmap.mmap | bytes) -> int | None:
        """Find the number of slots, which the file does not say: its entries must make sense behind them."""
        space = len(data) - INDEX_HEADER.size
        # What is left behind the slots is a whole number of entries, so only every fifth number can be right.
        every_fifth = range(space // 4 % 5 or 5, min(space // 4, SLOTS_TRIED_MAX), 5)
        usual = (5_000_000, space // 84)  # RocketMQ's number, and its ratio of 1 slot to 4 entries
        return next((each for each in (*usual, *every_fifth) if self._fits(data, each)), None)

    def _fits(self, data: mmap.mmap | bytes, slots: int) -> bool:
        """Tell whether the newest entry stands where this many slots put it, and is the head of its slot."""
        base = INDEX_HEADER.size + slots * 4
        last = self.header.next_entry - 1
        end = base + (last + 1) * INDEX_ENTRY.size
        if slots <= 0 or last <= 0 or end > len(data) or (len(data) - base) % INDEX_ENTRY.size:
            return False
        if any(data[base : base + INDEX_ENTRY.size]):
            return False  # entry 0 is never used
        key_hash, physical, _, previous = INDEX_ENTRY.unpack_from(data, end - INDEX_ENTRY.size)
        if key_hash < 0 or physical != self.header.end_offset or not 0 <= previous < last:
            return False
        slot = INDEX_HEADER.size + key_hash % slots * 4
        return int.from_bytes(data[slot : slot + 4], "big") == last


def index_paths(folder: Path) -> list[Path]:
    """List the index files, oldest first; they are named by 17 digits of local time."""
    if not folder.is_dir():
        return []
    names = (each for each in folder.iterdir() if each.name.isdecimal() and len(each.name) == 17)
    return sorted(each for each in names if each.is_file())


class Checkpoint(NamedTuple):
    """Times and offsets up to which files are known to be on disk."""

    physic_timestamp: int
    logics_timestamp: int
    index_timestamp: int
    master_flushed_offset: int
    confirm_offset: int


def checkpoint(path: Path) -> Checkpoint | None:
    """Read the checkpoint; None when there is none or it is too short."""
    if not path.is_file():
        return None
    data = path.read_bytes()
    return Checkpoint(*CHECKPOINT.unpack_from(data)) if len(data) >= CHECKPOINT.size else None


def lock_held(path: Path) -> bool | None:
    """Tell whether a store holds its lock, by asking and not by trying; None when it cannot be told."""
    if not path.is_file():
        return False
    ask = getattr(fcntl, "F_OFD_GETLK", None)
    if not sys.platform.startswith("linux") or ask is None or struct.calcsize("P") != 8:
        return None
    flock = struct.Struct("@hhqqi4x")
    with path.open("rb") as file:
        try:
            answer = fcntl.fcntl(file, ask, flock.pack(fcntl.F_WRLCK, 0, 0, 1, 0))
        except OSError:
            return None
    return bool(flock.unpack(answer)[0] != fcntl.F_UNLCK)
