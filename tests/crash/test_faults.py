import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import scenarios, stores

SHIM_SOURCE = Path(__file__).with_name("failing_sync.c")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes syncs fail on demand."""
    library = tmp_path_factory.mktemp("shim") / "failing_sync.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(SHIM_SOURCE), "-o", str(library), "-ldl"],
        check=True,
    )
    return library


def _run(name: str, root: Path, shim: Path | None = None) -> None:
    environment = dict(os.environ)
    if shim is not None:
        environment |= {"LD_PRELOAD": str(shim), "FAILING_SYNC": str(root.parent / "failing")}
    done = subprocess.run(
        [sys.executable, "-m", scenarios.__name__, name, str(root)],
        cwd=scenarios.REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    print(done.stdout)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stderr[-4000:]}"


def _reopens_with(root: Path, at_least: int) -> None:
    store = stores.open_engine(root)
    places = [(topic, queue_id) for topic, ids in store.topics().items() for queue_id in ids]
    found = [message for place in places for message in stores.read_queue(store, place)[0]]
    store.close()
    assert len(found) >= at_least
    assert not (root / "abort").exists()
    assert not stores.verify(root)


@pytest.mark.shows("FL-02")
def test_a_failed_sync_flush_is_told_and_never_healed_by_a_later_one(tmp_path: Path, shim: Path) -> None:
    _run("failed_sync_flush", tmp_path / "store", shim)
    _reopens_with(tmp_path / "store", 30)


def test_a_failed_flush_in_the_background_stops_writes_and_not_reads(tmp_path: Path, shim: Path) -> None:
    _run("failed_async_flush", tmp_path / "store", shim)
    _reopens_with(tmp_path / "store", 35)


@pytest.mark.shows("FL-02")
def test_a_sync_that_fails_while_another_waits_its_turn_fails_both(tmp_path: Path, shim: Path) -> None:
    _run("failed_sync_while_another_waits", tmp_path / "store", shim)
    _reopens_with(tmp_path / "store", 30)


def test_what_a_kill_left_in_memory_counts_as_safe_only_after_a_sync(tmp_path: Path, shim: Path) -> None:
    _run("unsynced_after_kill", tmp_path / "store", shim)
    _reopens_with(tmp_path / "store", 30)


def test_after_a_failed_queue_sync_the_checkpoint_stays_and_the_next_start_recovers(
    tmp_path: Path, shim: Path
) -> None:
    _run("failed_queue_sync", tmp_path / "store", shim)
    _reopens_with(tmp_path / "store", 90)


def test_a_file_cut_short_under_a_reader_is_an_error_and_no_crash(tmp_path: Path) -> None:
    _run("cut_short_under_reader", tmp_path / "store")


def test_a_file_cut_short_under_the_writer_is_an_error_and_no_crash(tmp_path: Path) -> None:
    _run("cut_short_under_writer", tmp_path / "store")


def test_a_forked_child_cannot_touch_the_parents_store(tmp_path: Path) -> None:
    _run("fork", tmp_path / "store")
