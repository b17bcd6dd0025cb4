"""Small stores to be hurt: their settings, what was written to them, and what a reader finds in them."""

import random
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tailfin._engine import LogStore, Message, StoreDamaged
from tailfin.config.store import StoreConfig
from tailfin.store.check import Check, Finding
from tailfin.store.offline import StoreFiles

LOG_FILE_BYTES = 4096
INDEX_SLOTS = 20
SMALL: dict[str, object] = {
    "mappedFileSizeCommitLog": LOG_FILE_BYTES,
    "mappedFileSizeConsumeQueue": 20 * 12,
    "maxHashSlotNum": INDEX_SLOTS,
    "maxIndexNum": 50,
    "flushIntervalCommitLog": 20,
    "flushIntervalConsumeQueue": 20,
    "flushConsumeQueueThoroughInterval": 100,
}
TOPICS = ("Orders", "Bills", "Audit")
QUEUES = 2
FIRST_TIME_MS = 1_700_000_000_000

Place = tuple[str, int]
"""A topic and one of its queues."""


@dataclass(frozen=True, slots=True)
class Written:
    """One acknowledged message."""

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    size: int
    body: bytes
    keys: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        return self.topic, self.queue_id


@dataclass
class History:
    """Everything that was acknowledged, in the order of the log."""

    messages: list[Written] = field(default_factory=list)

    def of_queue(self, place: Place) -> list[Written]:
        return [message for message in self.messages if message.place == place]

    @property
    def places(self) -> list[Place]:
        return sorted({message.place for message in self.messages})

    @property
    def end(self) -> int:
        last = self.messages[-1]
        return last.physical_offset + last.size


def config(root: Path, **settings: object) -> StoreConfig:
    return StoreConfig().changed(**{**SMALL, **settings, "storePathRootDir": str(root)})


def open_engine(root: Path, **settings: object) -> LogStore:
    """Open without the Python face: no housekeeping thread, and the notes stay to be read."""
    return LogStore(str(root), config(root, **settings).engine_options())


def verify(root: Path, **settings: object) -> list[Finding]:
    """Return the damage that `tailfin store verify` finds."""
    chosen = config(root, **settings)
    check = Check(StoreFiles.find(root, chosen), chosen)
    return [finding for finding in check.run() if finding.damage]


def fill(store: LogStore, count: int, rng: random.Random, history: History | None = None) -> History:
    """Append `count` messages or more: several queues, single and in batches, with keys and tags."""
    history = history or History()
    done = 0
    while done < count:
        topic, queue_id = rng.choice(TOPICS), rng.randrange(QUEUES)
        number = len(history.messages)
        if rng.random() < 0.2:
            bodies = [rng.randbytes(rng.randint(0, 60)) for _ in range(rng.randint(2, 4))]
            keys = [f"b{number + index}" for index in range(len(bodies))]
            entries = [(body, {"KEYS": key}) for body, key in zip(bodies, keys, strict=True)]
            appended = store.append_batch(topic, entries, queue_id)
            physical = appended.physical_offset
            for index, (body, key) in enumerate(zip(bodies, keys, strict=True)):
                message = store.message_at(physical)
                assert message is not None
                history.messages.append(
                    Written(
                        topic, queue_id, appended.queue_offset + index, physical, message.size, body, (key,)
                    )
                )
                physical += message.size
            done += len(bodies)
        else:
            body = rng.randbytes(rng.randint(0, 200))
            keys = [f"k{number}", "shared"] if rng.random() < 0.5 else []
            tag = rng.choice([None, "TagA", "TagB"])
            appended = store.append(topic, body, queue_id, keys=" ".join(keys) or None, tags=tag)
            history.messages.append(
                Written(
                    topic,
                    queue_id,
                    appended.queue_offset,
                    appended.physical_offset,
                    appended.size,
                    body,
                    tuple(keys),
                )
            )
            done += 1
    return history


def wait_dispatched(store: LogStore, history: History) -> None:
    """Wait until the last message is in its queue and in the index, and so all of them are."""
    messages, _ = store.read_log(history.messages[-1].physical_offset, 1, timeout=10)
    assert messages


def read_queue(store: LogStore, place: Place, start: int | None = None) -> tuple[list[Message], list[int]]:
    """Read a queue to its end; returns its messages and the offsets that were refused as damaged."""
    topic, queue_id = place
    offset = store.min_offset(topic, queue_id) if start is None else start
    end = store.max_offset(topic, queue_id)
    found: list[Message] = []
    refused: list[int] = []
    while offset < end:
        try:
            result = store.read(topic, queue_id, offset, 64, max_bytes=1 << 20)
        except StoreDamaged:
            refused.append(offset)
            offset += 1
            continue
        found.extend(result)
        assert result.next_offset > offset, f"{place} does not get past {offset}: {result.status}"
        offset = result.next_offset
    return found, refused


def differences(store: LogStore, expected: Iterable[Written], place: Place) -> Iterator[str]:
    """Tell how a queue differs from exactly these messages, gapless from its first one on."""
    wanted = list(expected)
    found, refused = read_queue(store, place)
    if refused:
        yield f"{place}: refused at {refused}"
    first = wanted[0].queue_offset if wanted else 0
    if [message.queue_offset for message in wanted] != list(range(first, first + len(wanted))):
        yield f"{place}: acknowledged offsets have gaps themselves"
    got = [(message.queue_offset, message.physical_offset, message.body) for message in found]
    should = [(message.queue_offset, message.physical_offset, message.body) for message in wanted]
    if got != should:
        numbers = [number for number, *_ in got]
        yield f"{place}: has offsets {numbers[:3]}…{numbers[-3:]} ({len(got)}), not 0…{len(should) - 1}"
        yield f"{place}: first difference at {_first_difference(got, should)}"
    if store.max_offset(*place) != first + len(wanted):
        yield f"{place}: max offset {store.max_offset(*place)}, not {first + len(wanted)}"


def _first_difference(got: list[tuple[int, int, bytes]], should: list[tuple[int, int, bytes]]) -> int:
    return next(
        (index for index, (one, other) in enumerate(zip(got, should, strict=False)) if one != other),
        min(len(got), len(should)),
    )


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is such a file system: thousands of copies need no disk."""
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if base.is_dir() else None, prefix="tailfin-") as name:
        yield Path(name)


def copy(source: Path, target: Path) -> Path:
    """Put a copy of a store in the place of what is there."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
    return target


def make_pair(folder: Path, seed: int, count: int = 120) -> tuple[Path, Path, History]:
    """Make the same store twice: closed in order, and as a kill would leave it.

    A seed gives the same bytes in every run, but for the names of index files and the times of birth.
    """
    rng = random.Random(seed)
    live = folder / "live"
    # Queues and checkpoint reach their files when asked to, not by the clock: half of them lag behind.
    store = open_engine(live, flushIntervalConsumeQueue=600_000, flushIntervalCommitLog=600_000)
    history = fill(store, count * 2 // 3, rng)
    wait_dispatched(store, history)
    store.flush()
    store.flush_queues()
    flushed = history.messages[-1]
    fill(store, count // 3, rng, history)
    wait_dispatched(store, history)
    unclean = copy(live, folder / "unclean")
    store.close()
    clean = live.rename(folder / "clean")
    _leave_one_file_ahead(unclean, history)
    _set_times(clean, history, history.messages[-1])
    _set_times(unclean, history, flushed)
    return clean, unclean, history


def _leave_one_file_ahead(root: Path, history: History) -> None:
    """Leave one unused log file, however many the preparing thread had made when the copy was taken."""
    ahead = (history.end // LOG_FILE_BYTES + 1) * LOG_FILE_BYTES
    for path in (root / "commitlog").iterdir():
        if int(path.name) > ahead:
            path.unlink()
    (root / "commitlog" / f"{ahead:020}").write_bytes(bytes(LOG_FILE_BYTES))


def _set_times(root: Path, history: History, flushed: Written) -> None:
    """Give each message a second of its own, as if the store had run for minutes.

    Recovery keeps three seconds of distance from the checkpoint; a store made in milliseconds would always
    be read from its beginning.
    """
    times = {
        message.physical_offset: FIRST_TIME_MS + 1000 * index
        for index, message in enumerate(history.messages)
    }
    for offset, time in times.items():
        start, position = divmod(offset, LOG_FILE_BYTES)
        with (root / "commitlog" / f"{start * LOG_FILE_BYTES:020}").open("r+b") as file:
            file.seek(position + 56)
            file.write(struct.pack(">q", time))
    for path in (root / "index").iterdir():
        _set_index_times(path, times)
    with (root / "checkpoint").open("r+b") as file:
        file.write(struct.pack(">qqq", *[times[flushed.physical_offset]] * 3))


def _set_index_times(path: Path, times: dict[int, int]) -> None:
    data = bytearray(path.read_bytes())
    _, _, first, last, _, count = struct.unpack_from(">qqqqii", data)
    struct.pack_into(">qq", data, 0, times[first], times[last])
    for number in range(1, count):
        entry_at = 40 + 4 * INDEX_SLOTS + 20 * number
        (offset,) = struct.unpack_from(">q", data, entry_at + 4)
        struct.pack_into(">i", data, entry_at + 12, (times[offset] - times[first]) // 1000)
    path.write_bytes(data)
