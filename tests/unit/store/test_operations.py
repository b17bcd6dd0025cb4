"""What an operator sees and sets while a store runs."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from tailfin._engine import AppendRefused
from tailfin.config import StoreConfig
from tailfin.store import Store
from tailfin.store import store as housekeeping

SMALL: dict[str, Any] = {
    "mappedFileSizeCommitLog": 65536,
    "mappedFileSizeConsumeQueue": 1280,
    "maxHashSlotNum": 100,
    "maxIndexNum": 400,
}


@pytest.mark.shows("X-22", "U-22")
def test_what_was_written_is_read_back_with_its_content(tmp_path: Path) -> None:
    with Store(tmp_path, **SMALL) as store:
        for n in range(10):
            store.append("FooBar", b"Once, there was a chance for me! %d" % n, tags="TagA", keys=f"k{n}")
        found = store.read("FooBar")
        assert found.status == "FOUND"
        assert [message.body for message in found] == [
            b"Once, there was a chance for me! %d" % n for n in range(10)
        ]
        assert [(message.queue_offset, message.tags, message.keys) for message in found] == [
            (n, "TagA", f"k{n}") for n in range(10)
        ]


@pytest.mark.shows("U-28")
def test_a_message_is_found_by_key_id_and_time(tmp_path: Path) -> None:
    with Store(tmp_path, **SMALL) as store:
        appended = [store.append("T", b"%d" % n, keys=f"order{n}") for n in range(5)]
        (by_key,) = store.query("T", "order3")
        by_id = store.message_by_id(appended[3].message_id)
        assert by_id is not None
        assert by_key.body == by_id.body == b"3"
        assert store.offset_at_time("T", 0, appended[0].store_timestamp) == 0
        assert store.offset_at_time("T", 0, appended[4].store_timestamp + 1) == 5


@pytest.mark.shows("SS-01", "ST-16", "CL-11")
def test_counters_tell_puts_bytes_and_refusals(tmp_path: Path) -> None:
    with Store(tmp_path, **SMALL, maxMessageSize=100) as store:
        sizes = [store.append("A", b"x").size, store.append_batch("A", [b"1", b"2"]).size]
        with pytest.raises(AppendRefused) as refused:
            store.append("A", bytes(101))
        assert refused.value.status == "MESSAGE_ILLEGAL"
        store.flush()
        stats = store.stats()
        assert stats["topics"] == {"A": (3, sum(sizes))}
        assert stats["put_calls"] == 3
        assert stats["refused"] == {"MESSAGE_ILLEGAL": 1}
        assert stats["slowest_put_ms"] >= 0
        assert stats["log_syncs"] >= 1


@pytest.mark.shows("MF-02")
def test_mapped_files_and_bytes_are_counted(tmp_path: Path) -> None:
    with Store(tmp_path, **SMALL) as store:
        before = store.stats()
        store.append("T", b"x")
        after = store.stats()
        assert after["mapped_files"] > before["mapped_files"]
        assert after["mapped_bytes"] >= before["mapped_bytes"] + 65536


@pytest.mark.shows("CL-33")
def test_the_largest_message_can_change_while_the_store_runs(tmp_path: Path) -> None:
    with Store(tmp_path, **SMALL, maxMessageSize=10) as store:
        with pytest.raises(AppendRefused, match="maxMessageSize allows 10"):
            store.append("T", bytes(11))
        store.set_max_message_size(11)
        store.append("T", bytes(11))


@pytest.mark.shows("AL-15")
@pytest.mark.parametrize(
    ("flush", "role", "in_effect"),
    [
        ("ASYNC_FLUSH", "ASYNC_MASTER", True),
        ("SYNC_FLUSH", "ASYNC_MASTER", False),
    ],
)
def test_the_pool_is_in_effect_with_async_flush_only(
    tmp_path: Path, flush: str, role: str, in_effect: bool
) -> None:
    settings: dict[str, Any] = {
        "transientStorePoolEnable": True,
        "flushDiskType": flush,
        "brokerRole": role,
        # Nothing leaves the buffers by itself.
        "commitIntervalCommitLog": 3_600_000,
        "commitCommitLogThoroughInterval": 3_600_000,
        "commitCommitLogLeastPages": 1 << 30,
    }
    with Store(tmp_path, **SMALL, **settings) as store:
        size = store.append("T", b"x").size
        assert store.max_physical_offset == (0 if in_effect else size)


@pytest.mark.shows("SS-04")
@pytest.mark.parametrize(
    ("held_ms", "told"), [(1000, False), (1001, True), (9_999_999, True), (10_000_000, False)]
)
def test_a_lock_held_too_long_is_told_with_the_stacks_of_all_threads(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    held_ms: int,
    told: bool,
) -> None:
    with Store(tmp_path, **SMALL, debugLockEnable=True) as store:
        assert store.stats()["lock_held_ms"] == 0
        monkeypatch.setattr(Store, "stats", lambda _: {"lock_held_ms": held_ms})
        with caplog.at_level(logging.WARNING, "tailfin.store"):
            store._tick(clean=False)
    lines = [record.getMessage() for record in caplog.records if "append lock" in record.getMessage()]
    assert bool(lines) == told
    if told:
        assert f"{held_ms} ms" in lines[0]
        assert f"thread {threading.get_ident()}" in lines[0]


@pytest.mark.shows("BK-19")
def test_a_store_looks_at_its_lock_often_and_cleans_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (housekeeping.TICK_S, housekeeping.FIRST_CLEANING_S) == (1, 60)
    assert StoreConfig().cleanResourceInterval == 10_000
    ticks: list[bool] = []
    both = threading.Event()

    def tick(store: Store, clean: bool) -> None:
        ticks.append(clean)
        if ticks.count(True) == 2 and ticks.count(False) > 2:
            both.set()

    monkeypatch.setattr(housekeeping, "TICK_S", 0.001)
    monkeypatch.setattr(housekeeping, "FIRST_CLEANING_S", 0.02)
    monkeypatch.setattr(Store, "_tick", tick)
    with Store(tmp_path, **SMALL, cleanResourceInterval=20):
        assert both.wait(10)
    assert not ticks[0]


@pytest.mark.shows("U-25", "ST-04")
def test_what_the_engine_has_to_say_reaches_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(tmp_path, **SMALL) as store:
        store.append("T", b"x")
    (tmp_path / "abort").write_text("1")
    with caplog.at_level(logging.INFO, "tailfin.store"), Store(tmp_path, **SMALL):
        pass
    said = {(record.levelname, record.getMessage()) for record in caplog.records}
    assert ("WARNING", f"{tmp_path}: the last run did not stop in order; recovering") in said


@pytest.mark.shows("N-09", "N-12")
def test_the_numbers_of_the_defaults() -> None:
    config = StoreConfig()
    assert config.syncFlushTimeout == 5000
    assert (config.commitIntervalCommitLog, config.flushIntervalCommitLog) == (200, 500)
    assert config.transientStorePoolSize * config.mappedFileSizeCommitLog == 5 << 30
