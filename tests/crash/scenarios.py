"""Things that might end a process, done in one of their own: `python -m tests.crash.scenarios NAME ROOT`.

Each function here is one scenario; it fails by an exception. Where syncs are to fail, `failing_sync.c` is
loaded and the file named by FAILING_SYNC tells which.
"""

import os
import random
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tailfin.store import Appended, AppendRefused, Store, StoreError, StoreLocked
from tests.crash import stores
from tests.crash.stores import History
from tests.crash.waiting import wait_until

REPOSITORY = Path(__file__).parents[2]


@contextmanager
def failing(word: str) -> Iterator[None]:
    control = Path(os.environ["FAILING_SYNC"])
    control.write_text(word)
    try:
        yield
    finally:
        control.unlink()


def message_of(action: Callable[[], object]) -> str | None:
    """Return what the store says against an action; None when it does it."""
    try:
        action()
    except (StoreError, ValueError, OSError) as error:
        return str(error)
    return None


def refused(append: Callable[[], Appended]) -> AppendRefused:
    try:
        append()
    except AppendRefused as error:
        return error
    raise AssertionError("the append was not refused")


def open_store(root: Path, **settings: object) -> Store:
    return Store(root, stores.config(root, **settings))


def assert_readable(store: Store, history: History) -> None:
    for place in history.places:
        messages, damaged = stores.read_queue(store, place)
        assert not damaged
        wanted = [message.body for message in history.of_queue(place)]
        assert [message.body for message in messages[: len(wanted)]] == wanted


def failed_sync_flush(root: Path) -> None:
    store = open_store(root, flushDiskType="SYNC_FLUSH")
    history = stores.fill(store, 30, random.Random(1))
    safe = store.flushed_offset
    assert safe == store.max_physical_offset
    answers: list[AppendRefused] = []
    with failing("msync"):
        threads = [
            threading.Thread(target=lambda: answers.append(refused(lambda: store.append("Orders", b"lost?"))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    statuses = sorted(answer.status for answer in answers)
    assert set(statuses) <= {"FLUSH_DISK_TIMEOUT", "SERVICE_NOT_AVAILABLE"}, statuses
    assert "FLUSH_DISK_TIMEOUT" in statuses
    for answer in answers:
        assert (answer.result is not None) == (answer.status == "FLUSH_DISK_TIMEOUT")
        if answer.result is not None:
            assert answer.result.physical_offset >= safe
    # From here on syncs would succeed again. That says nothing of what was to be written before.
    later = refused(lambda: store.append("Orders", b"later"))
    assert later.status == "SERVICE_NOT_AVAILABLE"
    assert later.result is None
    store.set_writable("not_writable", True)
    assert refused(lambda: store.append("Orders", b"forced")).status == "SERVICE_NOT_AVAILABLE"
    assert "an earlier sync of the log failed" in (message_of(store.flush) or "")
    assert store.flushed_offset == safe
    assert store.confirm_offset == safe
    assert_readable(store, history)
    assert message_of(store.close) is not None
    assert (root / "abort").exists()


def failed_async_flush(root: Path) -> None:
    store = open_store(root, flushIntervalCommitLog=10, flushCommitLogThoroughInterval=10)
    history = stores.fill(store, 30, random.Random(2))
    store.flush()
    safe = store.flushed_offset
    with failing("msync"):
        stores.fill(store, 5, random.Random(3), history)
        wait_until(lambda: store.running_flags() != 0, "the flush to fail")
    assert refused(lambda: store.append("Orders", b"later")).status == "SERVICE_NOT_AVAILABLE"
    assert store.flushed_offset == safe
    assert_readable(store, history)
    assert message_of(store.close) is not None
    assert (root / "abort").exists()


def failed_sync_while_another_waits(root: Path) -> None:
    store = open_store(root, flushDiskType="SYNC_FLUSH")
    history = stores.fill(store, 30, random.Random(11))
    safe = store.flushed_offset
    statuses: list[str] = []
    with failing("once"):
        threads = [
            threading.Thread(
                target=lambda: statuses.append(refused(lambda: store.append("Orders", b"lost?")).status)
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        # It has the same bytes to sync, and waits for the sync that fails.
        wait_until(lambda: store.max_physical_offset > safe, "an append to wait for the disk")
        assert message_of(store.flush) is not None
        for thread in threads:
            thread.join()
        assert "an earlier sync of the log failed" in (message_of(store.flush) or "")
    assert set(statuses) <= {"FLUSH_DISK_TIMEOUT", "SERVICE_NOT_AVAILABLE"}, statuses
    assert store.flushed_offset == safe
    assert_readable(store, history)
    assert message_of(store.close) is not None


def unsynced_after_kill(root: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.scenarios", "killed_before_a_sync", str(root)]
    assert subprocess.run(command, cwd=REPOSITORY, check=False).returncode == -signal.SIGKILL
    # What recovery finds may be in memory only. As long as that cannot be synced, nothing may count as safe.
    with failing("msync"):
        store = open_store(root, **_SELDOM)
        assert store.max_physical_offset > 0
        assert store.flushed_offset < store.max_physical_offset
        assert message_of(store.flush) is not None
        assert message_of(store.close) is not None
        assert message_of(lambda: open_store(root, flushDiskType="SYNC_FLUSH")) is not None
    healed = stores.open_engine(root, **_SELDOM)
    assert any("read anew from the disk" in text for _, text in healed.notes())
    healed.flush()
    assert healed.flushed_offset == healed.max_physical_offset
    healed.close()


_SELDOM = {"flushIntervalCommitLog": 600_000, "flushCommitLogThoroughInterval": 600_000}


def killed_before_a_sync(root: Path) -> None:
    store = open_store(root, **_SELDOM)
    stores.fill(store, 30, random.Random(12))
    os.kill(os.getpid(), signal.SIGKILL)


def failed_queue_sync(root: Path) -> None:
    def queue_time() -> int:
        (value,) = struct.unpack(">q", (root / "checkpoint").read_bytes()[8:16])
        return int(value)

    store = open_store(root, flushIntervalConsumeQueue=600_000)
    history = stores.fill(store, 30, random.Random(4))
    stores.wait_dispatched(store, history)
    store.flush_queues()
    trusted = queue_time()
    assert trusted > 0
    with failing("/consumequeue/"):
        stores.fill(store, 30, random.Random(5), history)
        stores.wait_dispatched(store, history)
        store.flush_queues()
    assert any("queues and index are trusted no further" in text for _, text in store.notes())
    stores.fill(store, 30, random.Random(6), history)
    stores.wait_dispatched(store, history)
    store.flush_queues()
    assert queue_time() == trusted, "a later sync heals nothing"
    assert_readable(store, history)
    store.close()
    assert queue_time() == trusted
    assert (root / "abort").exists()


def cut_short_under_reader(root: Path) -> None:
    store = open_store(root)
    history = stores.fill(store, 100, random.Random(7))
    size = stores.LOG_FILE_BYTES
    stores.wait_dispatched(store, history)
    store.flush()
    held = store.message_at(0)
    assert held is not None
    victim = root / "commitlog" / f"{size:020}"
    os.truncate(victim, 0)
    gone = [each for each in history.messages if size <= each.physical_offset < 2 * size]
    for message in gone:
        assert str(victim) in (message_of(partial(store.message_at, message.physical_offset)) or "")
    for place in history.places:
        messages, _ = stores.read_queue(store, place)
        kept = [each for each in history.of_queue(place) if each not in gone]
        assert [message.body for message in messages] == [each.body for each in kept]
    assert held.body == history.messages[0].body
    assert store.append("Orders", b"next").physical_offset == history.end
    print(f"{len(gone)} messages gone with their file, {len(history.messages) - len(gone)} still served")


def cut_short_under_writer(root: Path) -> None:
    store = open_store(root)
    history = stores.fill(store, 100, random.Random(8))
    size = stores.LOG_FILE_BYTES
    last = history.end // size * size
    os.truncate(root / "commitlog" / f"{last:020}", 0)
    statuses = {refused(lambda: store.append("Orders", b"x" * 100)).status for _ in range(5)}
    assert statuses <= {"UNKNOWN_ERROR", "SERVICE_NOT_AVAILABLE"}, statuses
    for message in history.messages:
        if message.physical_offset < last:
            found = store.message_at(message.physical_offset)
            assert found is not None
            assert found.body == message.body


def fork(root: Path) -> None:
    store = open_store(root)
    history = stores.fill(store, 20, random.Random(9))
    for leave in (os._exit, sys.exit):  # without and with what Python does at the end of a program
        child = os.fork()
        if child == 0:
            for attempt in (
                lambda: store.append("Orders", b"from the child"),
                lambda: store.read("Orders", 0),
                store.flush,
                store.delete_first_log_file,
            ):
                if "before this process forked" not in (message_of(attempt) or ""):
                    os._exit(7)
            store.close()
            leave(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        stores.fill(store, 20, random.Random(10), history)
        for place in history.places:
            assert not list(stores.differences(store, history.of_queue(place), place))
        command = [sys.executable, "-m", "tests.crash.scenarios", "locked", str(root)]
        subprocess.run(command, cwd=REPOSITORY, check=True)
    store.close()
    assert not (root / "abort").exists()
    assert not stores.verify(root)


def locked(root: Path) -> None:
    try:
        stores.open_engine(root)
    except StoreLocked:
        return
    raise AssertionError("the end of a child released the parent's lock")


SCENARIOS = {
    each.__name__: each
    for each in (
        failed_sync_flush,
        failed_async_flush,
        failed_sync_while_another_waits,
        unsynced_after_kill,
        killed_before_a_sync,
        failed_queue_sync,
        cut_short_under_reader,
        cut_short_under_writer,
        fork,
        locked,
    )
}


if __name__ == "__main__":
    SCENARIOS[sys.argv[1]](Path(sys.argv[2]))
