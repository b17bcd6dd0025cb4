"""One directory that changes hands: each side goes on where the other stopped."""

from pathlib import Path

import pytest

from tests.interop import agree, official
from tests.interop.conftest import Written
from tests.interop.corpus import Corpus, open_store
from tests.interop.official import Line

COUNT = 3000


def tailfin_writes(directory: Path, seed: int) -> list[Line]:
    with open_store(directory) as store:
        return Corpus(store, seed).write(COUNT)


def java_writes(directory: Path, seed: int) -> list[Line]:
    acks = directory.with_name(f"acks-{seed}")
    return official.write(directory, acks, "--seed", str(seed), "--count", str(COUNT))


def assert_both_have(acks: list[Line], directory: Path, scratch: Path) -> None:
    answers = official.read(official.copy(directory, scratch / "read"))
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_has_all(acks, official.copy(directory, scratch / "own"))
    agree.assert_tailfin_answers_alike(official.copy(directory, scratch / "alike"), answers)


@pytest.mark.shows("RC-07")
def test_java_goes_on_after_tailfin_and_tailfin_after_java(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    acks = tailfin_writes(directory, 11)
    acks += java_writes(directory, 12)
    acks += tailfin_writes(directory, 13)
    assert_both_have(acks, directory, tmp_path)


@pytest.mark.shows("RC-07")
def test_tailfin_goes_on_after_java_and_java_after_tailfin(java_closed: Written, tmp_path: Path) -> None:
    directory = official.copy(java_closed.directory, tmp_path / "store")
    acks = tailfin_writes(directory, 21)
    acks += java_writes(directory, 22)
    assert_both_have(java_closed.acks + acks, directory, tmp_path)


@pytest.mark.shows("RC-07", "RC-08")
def test_tailfin_goes_on_in_the_directory_of_a_killed_java(java_killed: Written, tmp_path: Path) -> None:
    directory = official.copy(java_killed.directory, tmp_path / "store")
    acks = tailfin_writes(directory, 31)
    assert_both_have(java_killed.acks + acks, directory, tmp_path)


def test_tailfin_sees_what_java_wrote_after_an_orderly_stop_that_was_written_down(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    settings = {**official.SMALL, "mappedFileSizeCommitLog": 128 << 20}
    with open_store(directory, settings) as store:
        for _ in range(70):
            store.append("Large", bytes(1 << 20))
    assert (directory / "tailfin-orderly-stop").exists()
    acks = official.write(directory, tmp_path / "acks", "--seed", "41", "--count", "500", settings=settings)
    agree.assert_tailfin_has_all(acks, directory, settings)
    with open_store(directory, settings) as store:
        assert store.max_offset("Large", 0) == 70


def test_opening_and_closing_changes_nothing_that_is_derived(java_closed: Written, tmp_path: Path) -> None:
    directory = official.copy(java_closed.directory, tmp_path / "store")
    for _ in range(3):
        open_store(directory).close()
    for part in ("commitlog", "consumequeue", "index"):
        subtree = [path for path in (java_closed.directory / part).rglob("*") if path.is_file()]
        assert subtree
        for path in subtree:
            own = directory / path.relative_to(java_closed.directory)
            assert own.read_bytes() == path.read_bytes(), own
