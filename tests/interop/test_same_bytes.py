"""Queues and index built from one log, by either side, compared byte for byte.

Equal: every byte of the consume queue files, their extension files and the index files. Different: an index
file's name, which is the time of its making.
"""

import shutil
from pathlib import Path

import pytest

from tests.interop import official
from tests.interop.conftest import Written
from tests.interop.corpus import Corpus, open_store
from tests.interop.official import SMALL, Settings

EXTENDED: Settings = {**SMALL, "enableConsumeQueueExt": True, "mappedFileSizeConsumeQueueExt": 4096}


def without_derived(source: Path, target: Path) -> Path:
    """Copy a directory and remove all that follows from the log."""
    official.copy(source, target)
    for part in ("consumequeue", "consumequeue_ext", "index"):
        shutil.rmtree(target / part, ignore_errors=True)
    return target


def queue_files(directory: Path, part: str = "consumequeue") -> dict[str, bytes]:
    files = (path for path in (directory / part).rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def index_files(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((directory / "index").iterdir())]


def assert_same_derived(one: Path, other: Path) -> None:
    queues, others = queue_files(one), queue_files(other)
    assert queues.keys() == others.keys()
    differing = [name for name in queues if queues[name] != others[name]]
    assert not differing
    indexes, other_indexes = index_files(one), index_files(other)
    assert len(indexes) == len(other_indexes) > 1
    for number, (file, other_file) in enumerate(zip(indexes, other_indexes, strict=True)):
        entries_at = 40 + 4 * int(SMALL["maxHashSlotNum"])
        assert file[:40] == other_file[:40], f"header of index file {number}"
        assert file[40:entries_at] == other_file[40:entries_at], f"slots of index file {number}"
        assert file[entries_at:] == other_file[entries_at:], f"entries of index file {number}"


@pytest.mark.shows("CQ-01", "CQ-03", "CQ-11", "IX-01", "IX-03", "IX-07", "IX-08", "IX-11", "RD-14", "RC-08")
def test_what_tailfin_builds_from_javas_log_is_what_java_wrote(java_closed: Written, tmp_path: Path) -> None:
    directory = without_derived(java_closed.directory, tmp_path / "store")
    open_store(directory).close()
    assert_same_derived(directory, java_closed.directory)


def test_what_tailfin_builds_from_javas_log_is_what_java_builds(java_closed: Written, tmp_path: Path) -> None:
    own = without_derived(java_closed.directory, tmp_path / "own")
    open_store(own).close()
    rebuilt = without_derived(java_closed.directory, tmp_path / "rebuilt")
    official.rebuild(rebuilt)
    assert_same_derived(own, rebuilt)


def test_what_java_builds_from_tailfins_log_is_what_tailfin_wrote(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        Corpus(store, seed=4).write(15_000, delayed=200)
    rebuilt = without_derived(tmp_path / "store", tmp_path / "rebuilt")
    official.rebuild(rebuilt)
    assert_same_derived(tmp_path / "store", rebuilt)


@pytest.mark.shows("CQ-10")
def test_extension_files_are_the_same_from_either_side(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", EXTENDED) as store:
        Corpus(store, seed=6).write(3000, delayed=50)
    rebuilt = without_derived(tmp_path / "store", tmp_path / "rebuilt")
    official.rebuild(rebuilt, settings=EXTENDED)
    assert queue_files(tmp_path / "store") == queue_files(rebuilt)
    extensions = queue_files(tmp_path / "store", "consumequeue_ext")
    assert len(extensions) > 16
    assert extensions == queue_files(rebuilt, "consumequeue_ext")
