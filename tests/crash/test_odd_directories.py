import json
import logging
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailfin.store import Store, StoreDamaged, StoreLocked
from tests.crash import stores
from tests.crash.mounts import tmpfs
from tests.crash.stores import History

LOG_BYTES = int(str(stores.SMALL["mappedFileSizeCommitLog"]))


@pytest.fixture
def closed(tmp_path: Path) -> tuple[Path, History]:
    """A store of several files that was closed in order."""
    root = tmp_path / "store"
    store = stores.open_engine(root)
    history = stores.fill(store, 100, random.Random(5))
    store.close()
    assert len(_log_files(root)) >= 4
    return root, history


@contextmanager
def _open(root: Path, **settings: object) -> Iterator[Store]:
    with Store(root, stores.config(root, **settings)) as store:
        yield store


def _log_files(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def _assert_all_there(store: Store, history: History) -> None:
    for place in history.places:
        assert not list(stores.differences(store, history.of_queue(place), place))
    for message in history.messages:
        for key in message.keys[:1]:
            found = store.query(message.topic, key)
            assert [each.physical_offset for each in found] == [message.physical_offset]


def _said(caplog: pytest.LogCaptureFixture, *parts: str) -> bool:
    return any(all(part in record.getMessage() for part in parts) for record in caplog.records)


def test_an_empty_last_log_file_is_removed_and_said(
    closed: tuple[Path, History], caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    end = int(_log_files(root)[-1].name) + LOG_BYTES
    empty = root / "commitlog" / f"{end:020}"
    empty.touch()
    with _open(root) as store:
        _assert_all_there(store, history)
        assert store.append("Orders", b"next").physical_offset == history.end
    assert _said(caplog, str(empty), "an empty last log file, removed")


def test_a_file_made_ahead_and_never_used_is_removed(closed: tuple[Path, History]) -> None:
    root, history = closed
    end = int(_log_files(root)[-1].name) + LOG_BYTES
    for start in (end, end + LOG_BYTES):
        (root / "commitlog" / f"{start:020}").write_bytes(bytes(LOG_BYTES))
    (root / "abort").touch()
    with _open(root) as store:
        _assert_all_there(store, history)
        assert store.append("Orders", b"next").physical_offset == history.end


@pytest.mark.shows("ST-05")
def test_a_missing_middle_log_file_is_named_and_nothing_is_touched(closed: tuple[Path, History]) -> None:
    root, _ = closed
    files = _log_files(root)
    files[1].rename(root / "elsewhere")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(StoreDamaged, match=r"is missing, though .* is there: bring it back") as caught:
        stores.open_engine(root)
    assert str(files[1]) in str(caught.value)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    (root / "elsewhere").rename(files[1])
    with _open(root):
        pass


@pytest.mark.shows("MF-22", "ST-05")
@pytest.mark.parametrize("size", [LOG_BYTES - 1, LOG_BYTES + 1, 1])
def test_a_log_file_of_another_size_is_refused(closed: tuple[Path, History], size: int) -> None:
    root, _ = closed
    path = _log_files(root)[1]
    os.truncate(path, size)
    text = f"{path}: has {size} bytes, mappedFileSizeCommitLog says {LOG_BYTES}"
    with pytest.raises(StoreDamaged, match=text):
        stores.open_engine(root)


@pytest.mark.shows("MF-22")
def test_another_file_size_in_the_settings_is_refused_and_harms_nothing(closed: tuple[Path, History]) -> None:
    root, history = closed
    for settings in (
        {"mappedFileSizeCommitLog": 8192},
        {"mappedFileSizeConsumeQueue": 400},
        {"maxIndexNum": 51},
    ):
        with pytest.raises(StoreDamaged, match="bytes"):
            stores.open_engine(root, **settings)
    with _open(root) as store:
        _assert_all_there(store, history)


def test_foreign_files_are_left_alone_and_said(
    closed: tuple[Path, History], caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    strangers = [
        root / "commitlog" / "notes.txt",
        root / "commitlog" / "00000000000000004096.bak",
        root / "consumequeue" / "Orders" / "0" / "readme",
        root / "consumequeue" / "stray",
        root / "index" / "list.txt",
    ]
    for path in strangers:
        path.write_bytes(b"mine")
    with _open(root) as store:
        _assert_all_there(store, history)
    for path in strangers:
        assert path.read_bytes() == b"mine"
        assert _said(caplog, str(path)), path


@pytest.mark.shows("CK-04", "CK-06")
def test_a_second_store_in_this_process_is_refused(closed: tuple[Path, History]) -> None:
    root, history = closed
    with _open(root) as store:
        with pytest.raises(StoreLocked, match=f"{root} is in use by another store"):
            stores.open_engine(root)
        _assert_all_there(store, history)
        assert store.append("Orders", b"next").physical_offset == history.end
    with _open(root):
        pass


@pytest.mark.shows("CK-04", "CK-06")
def test_a_second_process_is_refused_and_harms_nothing(closed: tuple[Path, History]) -> None:
    root, history = closed
    program = """
import sys
from pathlib import Path
from tests.crash import stores
stores.open_engine(Path(sys.argv[1]))
"""
    command = [sys.executable, "-c", program, str(root)]
    with _open(root) as store:
        second = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
        assert second.returncode == 1
        assert "StoreLocked" in second.stderr
        assert "stop it first" in second.stderr
        _assert_all_there(store, history)
        store.append("Orders", b"next")
    assert not stores.verify(root)


@pytest.mark.shows("RC-01", "RC-09", "U-17")
@pytest.mark.parametrize("abort", [False, True])
def test_deleted_queues_are_built_again_from_the_log(
    closed: tuple[Path, History], abort: bool, caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    shutil.rmtree(root / "consumequeue")
    if abort:
        (root / "abort").touch()
    with _open(root) as store:
        _assert_all_there(store, history)
    assert _said(caplog, "there are no consume queues; they are built from the log")
    assert not stores.verify(root)


@pytest.mark.parametrize("abort", [False, True])
def test_one_deleted_queue_is_built_again_from_the_log(
    closed: tuple[Path, History], abort: bool, caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    shutil.rmtree(root / "consumequeue" / "Bills" / "1")
    if abort:
        (root / "abort").touch()
    with _open(root) as store:
        _assert_all_there(store, history)
    if not abort:  # else the whole log is gone through anyway
        assert _said(caplog, "queue Bills-1 lacks messages that the log has; it is built again")
    assert not stores.verify(root)


@pytest.mark.parametrize("abort", [False, True])
def test_a_deleted_last_queue_file_is_built_again(closed: tuple[Path, History], abort: bool) -> None:
    root, history = closed
    for path in sorted((root / "consumequeue" / "Orders" / "0").iterdir())[1:]:
        path.unlink()
    if abort:
        (root / "abort").touch()
    with _open(root) as store:
        _assert_all_there(store, history)


def test_a_missing_middle_queue_file_is_named(closed: tuple[Path, History]) -> None:
    root, _ = closed
    folder = max((root / "consumequeue").glob("*/*"), key=lambda each: len(list(each.iterdir())))
    missing = sorted(folder.iterdir())[0]
    assert len(list(folder.iterdir())) >= 2
    files = sorted(folder.iterdir())
    if len(files) < 3:
        end = int(files[-1].name) + files[-1].stat().st_size
        (folder / f"{end + files[-1].stat().st_size:020}").write_bytes(bytes(files[-1].stat().st_size))
        missing = folder / f"{end:020}"
    else:
        missing = files[1]
        missing.unlink()
    with pytest.raises(StoreDamaged, match=f"{missing}: is missing, but files after it exist"):
        stores.open_engine(root)


@pytest.mark.parametrize("abort", [False, True])
def test_a_deleted_index_is_built_again(
    closed: tuple[Path, History], abort: bool, caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    shutil.rmtree(root / "index")
    if abort:
        (root / "abort").touch()
    with _open(root) as store:
        _assert_all_there(store, history)
    assert _said(caplog, "the index files are gone and built again")
    assert not stores.verify(root)


@pytest.mark.shows("RC-05")
@pytest.mark.parametrize(
    "kind", ["missing", "empty", "short", "long", "zeros", "garbage", "future", "negative"]
)
@pytest.mark.parametrize("base", ["clean", "unclean"])
def test_no_checkpoint_makes_a_message_disappear(
    tmp_path: Path, kind: str, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, _, history = stores.make_pair(tmp_path, 6)
    root = tmp_path / base
    path = root / "checkpoint"
    soon = int(time.time() * 1000) + 3_600_000
    contents = {
        "empty": b"",
        "short": bytes(100),
        "long": bytes(5000),
        "zeros": bytes(4096),
        "garbage": random.Random(1).randbytes(4096),
        "future": struct.pack(">qqqqq", soon, soon, soon, 0, 1 << 40).ljust(4096, b"\0"),
        "negative": b"\xff" * 4096,
    }
    if kind == "missing":
        path.unlink()
    else:
        path.write_bytes(contents[kind])
    with _open(root) as store:
        _assert_all_there(store, history)
        assert store.append("Orders", b"next").physical_offset == history.end
    assert not [finding for finding in stores.verify(root) if "makes no sense" not in finding.what]
    if kind in ("short", "long"):
        assert _said(caplog, str(path), "bytes instead of 4096; starting from zeros")
    if kind == "future" and base == "unclean":
        assert _said(caplog, "the checkpoint speaks of messages that the log does not have")


@pytest.mark.shows("CK-03", "ST-04")
def test_an_abort_file_without_need_only_costs_a_longer_start(
    closed: tuple[Path, History], caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    (root / "abort").write_text("not even a number")
    caplog.set_level(logging.INFO)
    with _open(root) as store:
        _assert_all_there(store, history)
        assert (root / "abort").read_text().splitlines()[0] == str(os.getpid())
    assert _said(caplog, "the last run did not stop in order; recovering")
    assert _said(caplog, "recovered after an unclean stop")
    assert not (root / "abort").exists()
    caplog.clear()
    with _open(root):
        pass
    assert _said(caplog, "the log is as an orderly stop left it")
    assert not stores.verify(root)


@pytest.mark.shows("RC-06")
def test_without_a_log_the_queues_are_emptied_and_it_is_said(
    closed: tuple[Path, History], caplog: pytest.LogCaptureFixture
) -> None:
    root, history = closed
    shutil.rmtree(root / "commitlog")
    with _open(root) as store:
        assert store.max_physical_offset == 0
        assert store.append("Orders", b"first").queue_offset == 0
        assert all(store.query(each.topic, key) == [] for each in history.messages for key in each.keys)
    assert _said(caplog, "has no log file, so the consume queues are emptied")
    assert not stores.verify(root)


def test_a_missing_first_log_file_moves_the_queues_minimum(closed: tuple[Path, History]) -> None:
    root, history = closed
    _log_files(root)[0].unlink()
    with _open(root) as store:
        assert store.min_physical_offset == LOG_BYTES
        for place in history.places:
            kept = [each for each in history.of_queue(place) if each.physical_offset >= LOG_BYTES]
            assert not list(stores.differences(store, kept, place))


def test_a_read_only_directory_is_an_os_error_that_names_it(closed: tuple[Path, History]) -> None:
    root, history = closed
    with tmpfs(root.parent / "mounted", size="8m") as mounted:
        stores.copy(root, mounted / "store")
        subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
        with pytest.raises(OSError, match=f"cannot open: Read-only file system.*{mounted}/store/lock"):
            stores.open_engine(mounted / "store")
        subprocess.run(["mount", "-o", "remount,rw", str(mounted)], check=True)
        with _open(mounted / "store") as store:
            _assert_all_there(store, history)


def test_a_path_that_is_a_file_is_an_os_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps("no directory"))
    with pytest.raises(OSError, match=str(path)):
        stores.open_engine(path)
