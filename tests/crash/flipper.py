"""Flips bytes of stores, one at a time, and judges what the store makes of each.

Runs as a process of its own, so that a crash or an endless loop is seen for what it is:
`python -m tests.crash.flipper FOLDER SEED FROM TO`. Each flip is told before it is tried; the last line is
the tally, as JSON.
"""

import faulthandler
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailfin._engine import LogStore, Message, StoreDamaged
from tests.crash import stores
from tests.crash.stores import History, Written

FLIP_SECONDS_MAX = 30
BASES = ("clean", "killed", "crashed")
KINDS = ("commitlog", "consumequeue", "index", "checkpoint")
WEIGHTS = (50, 25, 15, 10)
SYSTEM_FLAG_AT = 39  # its last byte
TRANSACTION_FLAGS = 0x0C


@dataclass(frozen=True)
class Flip:
    """One byte to be changed."""

    base: str
    kind: str
    file: str
    position: int
    mask: int

    @classmethod
    def choose(cls, folder: Path, rng: random.Random) -> "Flip":
        base = rng.choice(BASES)
        (kind,) = rng.choices(KINDS, WEIGHTS)
        root = folder / ("clean" if base == "clean" else "unclean")
        files = sorted(each for each in root.rglob("*") if each.is_file())
        file = rng.choice([each for each in files if each.relative_to(root).parts[0] == kind])
        size = file.stat().st_size
        if kind == "checkpoint" and rng.random() < 0.8:
            size = 40  # the rest of the page means nothing
        mask = 1 << rng.randrange(8) if rng.random() < 0.5 else rng.randint(1, 255)
        return cls(base, kind, str(file.relative_to(root)), rng.randrange(size), mask)

    def apply(self, root: Path) -> None:
        with (root / self.file).open("r+b") as file:
            file.seek(self.position)
            (byte,) = file.read(1)
            file.seek(self.position)
            file.write(bytes([byte ^ self.mask]))

    @property
    def log_offset(self) -> int | None:
        """Where in the log the byte is."""
        return int(Path(self.file).name) + self.position if self.kind == "commitlog" else None


class Judge:
    """Compares a store that was opened after a flip with what was written to it."""

    def __init__(self, store: LogStore, history: History, flip: Flip) -> None:
        self.store = store
        self.history = history
        self.flip = flip
        self.by_offset = {message.physical_offset: message for message in history.messages}
        self.missing: list[Written] = []
        self.refused = 0

    def complaints(self) -> Iterator[str]:
        """Tell what no damage excuses."""
        seen: Counter[int] = Counter()
        for place in self.history.places:
            yield from self._queue(place, seen)
        twice = [offset for offset, count in seen.items() if count > 1]
        if twice:
            yield f"served twice by queues: {twice}"
        yield from self._by_position()
        yield from self._by_key()

    def _may_be_gone(self, message: Written) -> bool:
        at = self.flip.log_offset
        return at is not None and message.physical_offset + message.size > at

    def is_hurt(self, message: Written) -> bool:
        at = self.flip.log_offset
        return at is not None and message.physical_offset <= at < message.physical_offset + message.size

    def sees_half_message(self) -> bool:
        """Tell whether a message now seems to be half of a transaction: it is rightly in no queue."""
        at = self.flip.log_offset
        is_flag = any(at == message.physical_offset + SYSTEM_FLAG_AT for message in self.missing)
        return is_flag and self.flip.mask & TRANSACTION_FLAGS != 0

    def _is_hurt_at(self, physical_offset: int) -> bool:
        return physical_offset in self.by_offset and self.is_hurt(self.by_offset[physical_offset])

    def _served(self, message: Message, how: str) -> Iterator[str]:
        original = self.by_offset.get(message.physical_offset)
        if original is None:
            yield f"{how}: a message at {message.physical_offset} that was never written"
        elif message.body != original.body:
            yield f"{how}: a wrong body at {message.physical_offset}"

    def _queue(self, place: stores.Place, seen: Counter[int]) -> Iterator[str]:
        found, refused = stores.read_queue(self.store, place)
        self.refused += len(refused)
        places = {}
        for message in found:
            seen[message.physical_offset] += 1
            places[message.physical_offset] = message.queue_offset
            yield from self._served(message, f"queue {place}")
        for original in self.history.of_queue(place):
            number = places.get(original.physical_offset)
            if number is None:
                self.missing.append(original)
                if not self._may_be_gone(original):
                    yield f"{place}: message {original.queue_offset} (at {original.physical_offset}) is lost"
            elif number != original.queue_offset and not self.is_hurt(original):
                yield f"{place}: message {original.queue_offset} is now number {number}"
        if self.flip.log_offset is None and self.store.max_offset(*place) != len(
            self.history.of_queue(place)
        ):
            yield f"{place}: ends at {self.store.max_offset(*place)}"

    def _by_position(self) -> Iterator[str]:
        for message in self.history.messages:
            try:
                found = self.store.message_at(message.physical_offset)
            except StoreDamaged:
                found = None
            if found is not None:
                yield from self._served(found, "message_at")
            elif not self._may_be_gone(message):
                yield f"message_at({message.physical_offset}) finds nothing"
        offset = self.store.min_physical_offset
        try:
            while offset < self.store.dispatched_offset:
                records, offset = self.store.read_log(offset)
                for record in records:
                    yield from self._served(record, "read_log")
        except (StoreDamaged, ValueError) as error:  # the latter: no record begins there
            at = self.flip.log_offset
            if at is None or offset > at or str(offset) not in str(error):
                yield f"read_log refuses at {offset}: {error}"

    def _by_key(self) -> Iterator[str]:
        for message in self.history.messages:
            for key in message.keys[:1]:
                found = self.store.query(message.topic, key)
                for each in found:
                    yield from self._served(each, f"query {key}")
                offsets = {each.physical_offset for each in found}
                strangers = [
                    each for each in offsets - {message.physical_offset} if not self._is_hurt_at(each)
                ]
                if len(offsets) < len(found) or strangers:
                    yield f"query {key}: {len(found)} messages"
                # Index files have no check sums: a flipped entry or slot is found by verify, not by queries.
                if not found and self.flip.kind != "index" and not self._may_be_gone(message):
                    yield f"query {key} finds nothing"


def restore(folder: Path, base: str, work: Path) -> Path:
    """Put a whole store into the work folder: closed, killed, or from a machine that went down."""
    stores.copy(folder / ("clean" if base == "clean" else "unclean"), work)
    if base == "crashed":
        (work / "abort").write_text("1\nanother-boot")
    return work


def usual_notes(folder: Path, work: Path) -> frozenset[str]:
    """Return what is said of the stores as they are: after a kill there is always something."""
    notes: set[str] = set()
    for base in BASES:
        store = stores.open_engine(restore(folder, base, work))
        notes.update(text for _, text in store.notes())
        store.close()
    return frozenset(notes)


def try_flip(
    folder: Path, work: Path, history: History, usual: frozenset[str], flip: Flip
) -> tuple[str, list[str]]:
    """Flip one byte, open, compare; returns the outcome and the complaints."""
    restore(folder, flip.base, work)
    flip.apply(work)
    try:
        store = stores.open_engine(work)
    except StoreDamaged as damaged:
        names_file = str(work) in str(damaged)
        return "refused to open", [] if names_file else [f"the refusal names no file: {damaged}"]
    try:
        judge = Judge(store, history, flip)
        complaints = list(judge.complaints())
        for place in history.places:
            appended = store.append(*place[:1], b"after", place[1])
            (message,) = store.read(*place, appended.queue_offset, 1)
            if message.body != b"after":
                complaints.append(f"{place}: an append after the flip reads {message.body!r}")
        said = [text for level, text in store.notes() if level != "info" and text not in usual]
    finally:
        store.close()
    # A refused message was told to its reader; one that is not served at all must be in the notes.
    if len(judge.missing) > judge.refused and not said and not judge.sees_half_message():
        complaints.append(f"{len(judge.missing)} messages missing, {judge.refused} refused: nothing was said")
    return _outcome(judge, said), complaints + list(_reopened(work, judge))


def _reopened(work: Path, judge: Judge) -> Iterator[str]:
    """What is left after one repair is a store without need of another."""
    store = stores.open_engine(work)
    try:
        for place in judge.history.places:
            missing = {message.physical_offset for message in judge.missing}
            kept = [each for each in judge.history.of_queue(place) if each.physical_offset not in missing]
            found = {message.physical_offset for message in stores.read_queue(store, place)[0]}
            lost = [each.queue_offset for each in kept if each.physical_offset not in found]
            if lost:
                yield f"{place}: {lost} lost by the second start"
    finally:
        store.close()


def _outcome(judge: Judge, said: list[str]) -> str:
    if not judge.missing:
        if judge.refused:
            return "a message refused, a copy of it served"
        return "all there, mended and said" if said else "all there, nothing to say"
    hurt = [message for message in judge.missing if judge.is_hurt(message)]
    if len(hurt) == len(judge.missing):
        return "only the hurt message refused" if judge.refused else "only the hurt message dropped"
    return "the log was cut at the damage"


def main() -> None:
    folder, seed, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    history = History([Written(*each[:-1], tuple(each[-1])) for each in _load(folder)])
    tally: Counter[str] = Counter()
    failures: list[str] = []
    work = folder / f"work-{os.getpid()}"
    usual = usual_notes(folder, work)
    for number in range(first, last):
        flip = Flip.choose(folder, random.Random(f"{seed}/{number}"))
        print(f"{number} {flip}", flush=True)
        faulthandler.dump_traceback_later(FLIP_SECONDS_MAX, exit=True)
        try:
            outcome, complaints = try_flip(folder, work, history, usual, flip)
        except Exception as error:  # the judge's verdict on this flip, not the end of the run
            outcome, complaints = "an unexpected error", [f"{type(error).__name__}: {error}"]
        faulthandler.cancel_dump_traceback_later()
        tally[f"{flip.kind}: {outcome}"] += 1
        failures += [f"{number} {flip}: {complaint}" for complaint in complaints]
    print(json.dumps({"tally": tally, "failures": failures}))


def _load(folder: Path) -> list[tuple[str, int, int, int, int, bytes, list[str]]]:
    rows = json.loads((folder / "history.json").read_text())
    return [(*row[:5], bytes.fromhex(row[5]), row[6]) for row in rows]


def save(folder: Path, history: History) -> None:
    """Leave the history where `main` finds it."""
    rows = [
        [
            each.topic,
            each.queue_id,
            each.queue_offset,
            each.physical_offset,
            each.size,
            each.body.hex(),
            list(each.keys),
        ]
        for each in history.messages
    ]
    (folder / "history.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
