import os
import random
import signal
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tailfin._engine import LogStore, Message
from tests.crash import stores, writer
from tests.crash.stores import Place

KILLS = int(os.environ.get("TAILFIN_KILLS", "200"))
SEED = int(os.environ.get("TAILFIN_KILL_SEED", "1"))
VERIFY_ALWAYS_MESSAGES = 5_000  # verify reads everything; the long run does it now and then


@dataclass(frozen=True, slots=True)
class Operation:
    """One append of one or more messages."""

    number: int
    operation: int
    count: int

    def bodies(self) -> list[bytes]:
        return [writer.body(self.number, self.operation, index, self.count) for index in range(self.count)]


@dataclass
class Ledger:
    """What was acknowledged, and what was found."""

    found: dict[Place, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """Every body that a check has seen: none of them may change or go."""
    fresh: dict[Place, list[tuple[int, Operation]]] = field(default_factory=lambda: defaultdict(list))
    """Acknowledged since the last check, with the offset that was told."""
    acknowledged: int = 0
    unacknowledged: int = 0
    kills_while_opening: int = 0

    def note(self, line: str, number: int) -> None:
        _, topic, queue_id, offset, operation, count = line.split(" ")
        place = topic, int(queue_id)
        self.fresh[place].append((int(offset), Operation(number, int(operation), int(count))))
        self.acknowledged += int(count)

    def check(self, store: LogStore, number: int) -> None:
        """Compare what came since the last check: in order, once, without a gap, batches whole."""
        places = sorted({*self.found, *self.fresh, *self._places_of(store)})
        extras = 0
        for place in places:
            known = self.found[place]
            start = max(0, len(known) - 1)  # the last one seen is looked at again
            messages, refused = stores.read_queue(store, place, start)
            assert not refused, f"round {number}: {place} refuses {refused}"
            numbers = [message.queue_offset for message in messages]
            assert numbers == list(range(start, start + len(messages))), f"round {number}: {place} has gaps"
            bodies = [message.body for message in messages]
            assert bodies[: len(known) - start] == known[start:], f"round {number}: {place} changed"
            new = bodies[len(known) - start :]
            at = 0
            for offset, operation in self.fresh[place]:
                assert offset == len(known) + at, f"round {number}: {place} was told another offset"
                expected = operation.bodies()
                assert new[at : at + len(expected)] == expected, f"round {number}: {place} lost {operation}"
                at += len(expected)
            extras += self._take_unacknowledged(new[at:], number, place)
            known.extend(new)
            self._query(store, place, messages)
        assert extras <= 1, f"round {number}: {extras} operations that nobody was told of"
        self.fresh.clear()

    def _take_unacknowledged(self, bodies: list[bytes], number: int, place: Place) -> int:
        """A kill may come between the append and its acknowledgement: then the whole operation is there."""
        if not bodies:
            return 0
        name, _ = bodies[0].split(b" ", 1)
        round_number, operation, rest = name.split(b".")
        count = int(rest.split(b"/")[1])
        whole = Operation(int(round_number), int(operation), count)
        assert bodies == whole.bodies(), f"round {number}: {place} has part of {whole}"
        self.unacknowledged += count
        return 1

    @staticmethod
    def _places_of(store: LogStore) -> list[Place]:
        return [(topic, queue_id) for topic, ids in store.topics().items() for queue_id in ids]

    @staticmethod
    def _query(store: LogStore, place: Place, messages: list[Message]) -> None:
        for message in (messages[:1] + messages[-1:]) if messages else []:
            assert message.keys is not None
            found = store.query(place[0], message.keys)
            assert [each.physical_offset for each in found] == [message.physical_offset]

    def compare_all(self, store: LogStore) -> None:
        for place, known in self.found.items():
            messages, refused = stores.read_queue(store, place)
            assert not refused
            assert [message.queue_offset for message in messages] == list(range(len(known)))
            assert [message.body for message in messages] == known
        by_log = [message.body for message in _follow(store)]
        assert sorted(by_log) == sorted(body for known in self.found.values() for body in known)
        for place, known in self.found.items():
            assert store.max_offset(*place) == len(known)


def _follow(store: LogStore) -> list[Message]:
    offset = store.min_physical_offset
    found: list[Message] = []
    while offset < store.dispatched_offset:
        messages, offset = store.read_log(offset)
        found += messages
    return found


def _run_and_kill(home: writer.Nursery, job: writer.Job, ledger: Ledger, rng: random.Random) -> None:
    """Start a writer, kill it at a random moment, and note what it acknowledged until then."""
    # Some die by the clock, which may be while they recover; the others after some work.
    after_acks = None if rng.random() < 0.3 else rng.randint(0, 60)
    pid = acks = 0
    opened = False
    timer: threading.Timer | None = None
    for line in home.lines(job):
        kind = line.split(" ", 1)[0]
        if kind == "pid":
            pid = int(line.split(" ")[1])
            if after_acks is None:
                timer = threading.Timer(rng.uniform(0, 0.03), os.kill, (pid, signal.SIGKILL))
                timer.start()
        elif kind == "open":
            opened = True
        elif kind == "ack":
            ledger.note(line, job.round)
            acks += 1
        elif kind == "failed":
            pytest.fail(f"round {job.round}: {line}")
        # The pid may be told after the first acknowledgements: two processes share the pipe.
        if after_acks is not None and pid and opened and acks >= after_acks and kind != "ended":
            os.kill(pid, signal.SIGKILL)
            after_acks = 1 << 30
    if timer is not None:
        timer.join()
    ledger.kills_while_opening += not opened


def _kill_in_a_row(kills: int, folder: Path, seed: int, flush: str = "ASYNC_FLUSH") -> None:
    rng = random.Random(seed)
    root, copy = folder / "store", folder / "copy"
    ledger = Ledger()
    settings: dict[str, object] = {}
    with writer.nursery() as home:
        for number in range(kills):
            job = writer.Job(str(root), number, rng.randrange(1 << 30), flush)
            settings = job.settings
            _run_and_kill(home, job, ledger, rng)
            if not (root / "commitlog").is_dir():
                continue  # killed before it had made anything
            # Usually a copy is opened, so that the next writer itself recovers what the kill left.
            place = root if rng.random() < 0.1 else stores.copy(root, copy)
            store = stores.open_engine(place, **settings)
            try:
                ledger.check(store, number)
            finally:
                store.close()
            if ledger.acknowledged < VERIFY_ALWAYS_MESSAGES or number % 20 == 0 or number == kills - 1:
                damage = stores.verify(place, **settings)
                assert not damage, f"round {number}: {damage[:5]}"
    store = stores.open_engine(root, **settings)
    try:
        ledger.compare_all(store)
    finally:
        store.close()
    assert not stores.verify(root, **settings)
    files = {kind: len(list((root / kind).rglob("[0-9]" * 10 + "*"))) for kind in ("commitlog", "index")}
    print(f"\n{kills} kills ({flush}), {ledger.kills_while_opening} of them before the store was open")
    print(f"{ledger.acknowledged} acknowledged and all there, {ledger.unacknowledged} more found; {files}")
    assert ledger.acknowledged > kills
    assert not list(root.glob("cut-at-*")), "a kill loses nothing that would have to be set aside"


@pytest.mark.slow
@pytest.mark.shows("RC-08", "U-17", "RC-07", "CK-03")
def test_kills_in_a_row_lose_no_acknowledged_message() -> None:
    with stores.memory_folder() as folder:
        _kill_in_a_row(KILLS, folder, SEED)


@pytest.mark.slow
@pytest.mark.shows("RC-08")
def test_kills_in_a_row_lose_nothing_with_sync_flush(tmp_path: Path) -> None:
    _kill_in_a_row(max(1, KILLS // 5), tmp_path, SEED, flush="SYNC_FLUSH")
