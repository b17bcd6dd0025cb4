import logging
from pathlib import Path

import pytest

from tailfin.store import Store
from tests.unit.store.conftest import Open


def test_opening_a_closed_store_enters_nothing_into_the_index_again(reopen: Open, tmp_path: Path) -> None:
    store = reopen()
    for number in range(10):
        store.append("T", b"x", keys=f"k{number}", tags="TagA")
    store.close()
    [index] = (tmp_path / "data" / "index").iterdir()
    before = index.read_bytes()
    for _ in range(3):
        reopen().close()
    assert index.read_bytes() == before


def test_a_batch_in_the_transient_pool_knows_all_its_ids(reopen: Open) -> None:
    store = reopen(transientStorePoolEnable=True, transientStorePoolSize=2, commitIntervalCommitLog=60_000)
    result = store.append_batch("T", [b"1", b"2", b"3"])
    ids = result.message_id.split(",")
    assert store.wait_for("T", 0, 2, 5)
    assert [message.message_id for message in store.read("T")] == ids


def test_a_topic_that_was_deleted_stays_away_over_restarts(reopen: Open) -> None:
    store = reopen()
    for topic in ("T", "U"):
        for _ in range(5):
            store.append(topic, b"x")
    assert store.delete_topic("T")
    for _ in range(3):
        store = reopen()
        assert store.topics() == {"U": [0]}


def test_what_was_repaired_is_told_also_when_the_store_then_does_not_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "data"
    with Store(root) as store:
        store.append("T", b"x")
    (root / "commitlog" / "notes.txt").touch()
    (root / "checkpoint").unlink()
    (root / "checkpoint").mkdir()
    with caplog.at_level(logging.INFO, "tailfin.store"), pytest.raises(OSError, match="checkpoint"):
        Store(root)
    assert f"{root}: {root}/commitlog/notes.txt: not a log file, left alone" in caplog.messages
    [level] = {record.levelname for record in caplog.records if "notes.txt" in record.getMessage()}
    assert level == "WARNING"
