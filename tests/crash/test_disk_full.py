import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tailfin.store import AppendRefused, Store
from tests.crash import stores
from tests.crash.mounts import tmpfs
from tests.crash.stores import History, Written
from tests.crash.waiting import wait_until

REFUSALS = {"CREATE_MAPPED_FILE_FAILED", "SERVICE_NOT_AVAILABLE"}
LOG_BYTES = 64 * 1024
SETTINGS: dict[str, object] = {
    "mappedFileSizeCommitLog": LOG_BYTES,
    "mappedFileSizeConsumeQueue": 20 * 200,
    "maxHashSlotNum": 100,
    "maxIndexNum": 2000,
    "flushIntervalConsumeQueue": 10,
    "flushConsumeQueueThoroughInterval": 20,
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with tmpfs(tmp_path / "disk", size="1m") as disk:
        yield disk


@contextmanager
def _open(root: Path, **changes: object) -> Iterator[Store]:
    store = Store(root, stores.config(root, **(SETTINGS | changes)))
    try:
        yield store
    finally:
        # Queues that find no space are told, and built again at the next start.
        with suppress(OSError):
            store.close()


def _append(store: Store, history: History, body: bytes, rng: random.Random) -> None:
    topic, queue_id = rng.choice(stores.TOPICS), rng.randrange(stores.QUEUES)
    appended = store.append(topic, body, queue_id)
    history.messages.append(
        Written(topic, queue_id, appended.queue_offset, appended.physical_offset, appended.size, body)
    )


def _fill_up(store: Store, history: History, rng: random.Random) -> AppendRefused:
    """Append until the disk is full and appends are refused again and again."""
    refused: AppendRefused | None = None
    in_a_row = 0
    while in_a_row < 20:
        try:
            _append(store, history, rng.randbytes(900), rng)
            in_a_row = 0
        except AppendRefused as error:
            refused = _as_expected(error)
            in_a_row += 1
    assert refused is not None
    return refused


def _as_expected(refused: AppendRefused) -> AppendRefused:
    assert refused.status in REFUSALS, refused
    assert refused.result is None
    return refused


def _assert_all_there(store: Store, history: History) -> None:
    for place in history.places:
        kept = [each for each in history.of_queue(place) if each.physical_offset >= store.min_physical_offset]
        assert not list(stores.differences(store, kept, place))


@pytest.mark.shows("CL-07")
@pytest.mark.parametrize("pool", [False, True], ids=["mapped", "transient pool"])
def test_a_full_disk_refuses_appends_and_keeps_serving_reads(small_disk: Path, pool: bool) -> None:
    rng, history = random.Random(1), History()
    # Queues that are not written meanwhile cannot meet the full disk before the log does.
    settings = {"flushIntervalConsumeQueue": 3_600_000, "transientStorePoolEnable": pool}
    with _open(small_disk / "store", **settings) as store:
        refused = _fill_up(store, history, rng)
        assert refused.status == "CREATE_MAPPED_FILE_FAILED"
        assert "No space left on device" in str(refused)
        assert len(history.messages) > 500
        store.flush()  # what is in the pool cannot be read before
        _assert_all_there(store, history)
        for message in history.messages[::50]:
            found = store.message_at(message.physical_offset)
            assert found is not None
            assert found.body == message.body
    with _open(small_disk / "store") as store:
        _assert_all_there(store, history)


@pytest.mark.shows("CL-07")
def test_appends_go_on_after_old_files_were_deleted(small_disk: Path) -> None:
    rng, history = random.Random(2), History()
    with _open(small_disk / "store") as store:
        for _ in range(3):
            _fill_up(store, history, rng)
            for _ in range(4):
                wait_until(store.delete_first_log_file, "the oldest file to be dispatched and to go")
            store.delete_expired_queue_files()
            before = len(history.messages)
            wait_until(lambda: _appends(store, history, rng), "appends to go on")
            for _ in range(100):
                _append(store, history, rng.randbytes(900), rng)
            assert len(history.messages) >= before + 100
            _assert_all_there(store, history)
    with _open(small_disk / "store") as store:
        _assert_all_there(store, history)
    assert not stores.verify(small_disk / "store", **SETTINGS)


def test_appends_go_on_when_others_give_space_back(small_disk: Path) -> None:
    rng, history = random.Random(3), History()
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    with _open(small_disk / "store") as store:
        _fill_up(store, history, rng)
        full = len(history.messages)
        ballast.unlink()
        wait_until(lambda: _appends(store, history, rng), "appends to go on")
        for _ in range(200):
            _append(store, history, rng.randbytes(900), rng)
        assert len(history.messages) > full + 200
        _assert_all_there(store, history)
    assert not stores.verify(small_disk / "store", **SETTINGS)


def _appends(store: Store, history: History, rng: random.Random) -> bool:
    try:
        _append(store, history, b"again", rng)
    except AppendRefused as error:
        _as_expected(error)
        return False
    return True


@pytest.mark.shows("CN-05")
def test_the_cleaner_marks_the_disk_full_deletes_old_files_and_lifts_the_mark(small_disk: Path) -> None:
    rng, history = random.Random(4), History()
    with _open(small_disk / "store") as store:
        _fill_up(store, history, rng)
        least = store.min_physical_offset
        store.clean()
        assert store.min_physical_offset > least
        while os.statvfs(small_disk).f_bavail * 100 < os.statvfs(small_disk).f_blocks * 11:
            assert store.clean(), "the cleaner stops while the disk is still full"
        store.clean()
        wait_until(lambda: _appends(store, history, rng), "appends to go on")
        _assert_all_there(store, history)


def test_queues_that_find_no_space_stop_writes_lose_nothing_and_go_on(tmp_path: Path) -> None:
    """The queues have a disk of their own here, and that one is full."""
    rng, history = random.Random(5), History()
    root = tmp_path / "store"
    # With the ballast gone there is room for all that a writer may append before the queues are written out.
    with tmpfs(tmp_path / "queues", size="1m") as queues:
        settings = {**SETTINGS, "storePathConsumeQueue": str(queues / "consumequeue")}
        ballast = queues / "ballast"
        ballast.write_bytes(bytes(1_024_000))
        with Store(root, stores.config(root, **settings)) as store:
            refused = _fill_up(store, history, rng)
            assert refused.status == "SERVICE_NOT_AVAILABLE"
            assert "the consume queues cannot be written out" in str(refused)
            _assert_all_there(store, history)
            ballast.unlink()
            wait_until(lambda: _appends(store, history, rng), "appends to go on")
            _assert_all_there(store, history)
        assert not (root / "abort").exists()
        with Store(root, stores.config(root, **settings)) as store:
            _assert_all_there(store, history)


def test_a_store_on_a_full_disk_can_be_closed_and_opened_to_be_cleaned(small_disk: Path) -> None:
    rng, history = random.Random(6), History()
    with _open(small_disk / "store") as store:
        _fill_up(store, history, rng)
    _use_up(small_disk)
    with _open(small_disk / "store") as store:
        _assert_all_there(store, history)
        for _ in range(4):
            wait_until(store.delete_first_log_file, "the oldest file to be dispatched and to go")
        wait_until(lambda: _appends(store, history, rng), "appends to go on")
        _assert_all_there(store, history)


def _use_up(disk: Path) -> None:
    with (disk / "rest").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
