"""What a store does not do, and how it says so."""

import copy
import gc
import logging
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tailfin import errors
from tailfin.store import AppendRefused, Store, StoreClosed, StoreConfig, StoreLocked


@pytest.mark.shows("ST-11")
def test_a_topic_too_long_is_refused(store: Store) -> None:
    with pytest.raises(AppendRefused) as refused:
        store.append("t" * 256, b"x")
    assert refused.value.status == "MESSAGE_ILLEGAL"


@pytest.mark.shows("ST-12")
def test_properties_too_long_are_refused(store: Store) -> None:
    with pytest.raises(AppendRefused) as refused:
        store.append("T", b"x", properties={"p": "v" * 40_000})
    assert refused.value.status == "PROPERTIES_SIZE_EXCEEDED"


@pytest.mark.shows("ST-09")
def test_a_slave_refuses_appends(reopen: Callable[..., Store]) -> None:
    with pytest.raises(AppendRefused) as refused:
        reopen(brokerRole="SLAVE").append("T", b"x")
    assert refused.value.status == "SERVICE_NOT_AVAILABLE"


@pytest.mark.shows("ST-10")
def test_a_full_disk_refuses_appends_and_serves_reads(store: Store) -> None:
    store.append("T", b"before")
    assert store.wait_for("T", 0, 0, 5.0)
    store.set_writable("disk_full", False)
    assert store.running_flags() == 16
    with pytest.raises(AppendRefused) as refused:
        store.append("T", b"x")
    assert refused.value.status == "SERVICE_NOT_AVAILABLE"
    assert len(store.read("T")) == 1
    store.set_writable("disk_full", True)
    assert store.append("T", b"after").queue_offset == 1


@pytest.mark.shows("ST-08")
def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.append("T", b"x")
    with pytest.raises(StoreClosed):
        store.read("T")


@pytest.mark.shows("CK-04", "CK-06")
def test_a_second_store_on_the_directory_is_refused(store: Store, config: StoreConfig) -> None:
    with pytest.raises(StoreLocked):
        Store(store.config.storePathRootDir, config)


def test_an_unknown_setting_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="did you mean 'flushDiskType'"):
        Store(tmp_path / "data", flushDiscType="SYNC_FLUSH")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_store_cannot_be_copied(store: Store, take: Callable[[Store], object]) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        take(store)


def test_every_store_error_is_a_store_error() -> None:
    for error in (errors.StoreDamaged, errors.StoreLocked, errors.StoreClosed, errors.AppendRefused):
        assert issubclass(error, errors.StoreError)
    assert issubclass(errors.ConfigError, ValueError)


def test_a_forgotten_store_is_closed_with_a_warning(tmp_path: Path, config: StoreConfig) -> None:
    def open_and_forget() -> None:
        Store(tmp_path, config)
        gc.collect()

    with pytest.warns(ResourceWarning, match="was not closed"):
        open_and_forget()
    Store(tmp_path, config).close()


def test_a_program_that_ends_without_closing_leaves_a_clean_store(tmp_path: Path) -> None:
    program = (
        "import sys; from tailfin.store import Store\n"
        "store = Store(sys.argv[1], mappedFileSizeCommitLog=65536, maxHashSlotNum=100, maxIndexNum=2000)\n"
        "store.append('T', b'x')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=20)
    assert not (tmp_path / "abort").exists()


def test_what_the_engine_says_is_logged(
    tmp_path: Path, config: StoreConfig, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path, config) as store:
        store.append("T", b"x")
    (tmp_path / "abort").write_text("1")
    with caplog.at_level(logging.INFO, "tailfin.store"), Store(tmp_path, config):
        pass
    assert caplog.records  # at the least, that the last process did not close it
    assert all(str(tmp_path) in record.getMessage() for record in caplog.records)


@pytest.mark.shows("CN-02", "CN-11")
def test_cleaning_on_request_keeps_what_is_not_expired(store: Store) -> None:
    for _ in range(100):
        store.append("T", bytes(2000))
    assert store.clean(now=True) == 0
    assert store.min_physical_offset == 0


@pytest.mark.shows("CN-03", "CN-08", "CN-11")
def test_cleaning_on_request_deletes_expired_files_but_the_last(reopen: Callable[..., Store]) -> None:
    store = reopen(fileReservedTime=0, deleteCommitLogFilesInterval=0)
    for _ in range(100):
        store.append("T", bytes(2000))
    assert store.wait_for("T", 0, 99, 5.0)
    store.flush()
    count = len(store.log_files())
    assert 0 < store.clean(now=True) <= count - 1
    assert store.min_physical_offset > 0
