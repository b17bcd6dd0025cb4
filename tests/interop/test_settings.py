"""Settings that change how files are made or what stands in them: both sides with the same ones."""

from pathlib import Path

import pytest

from tests.interop import agree, official
from tests.interop.corpus import Corpus, open_store
from tests.interop.official import SMALL, Settings

POOL: Settings = {**SMALL, "transientStorePoolEnable": True, "transientStorePoolSize": 3}
WARM: Settings = {**SMALL, "warmMapedFileEnable": True}
EXTENSION: Settings = {**SMALL, "enableConsumeQueueExt": True, "mappedFileSizeConsumeQueueExt": 4096}
# Recovery then asks for the checksum, and cuts the log where it is missing or wrong.
CHECKSUM: Settings = {**SMALL, "enabledAppendPropCRC": True, "forceVerifyPropCRC": True}

HOW_FILES_ARE_MADE = [pytest.param(POOL, id="transient-pool"), pytest.param(WARM, id="warm-up")]
WHAT_STANDS_IN_THEM = [
    pytest.param(EXTENSION, id="extension"),
    pytest.param(CHECKSUM, id="property-checksum"),
]


@pytest.mark.parametrize("settings", HOW_FILES_ARE_MADE + WHAT_STANDS_IN_THEM)
def test_java_reads_what_tailfin_wrote(settings: Settings, tmp_path: Path) -> None:
    with open_store(tmp_path / "store", settings) as store:
        acks = Corpus(store, seed=7).write(3000, delayed=50)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=settings)
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, settings)


@pytest.mark.parametrize("settings", WHAT_STANDS_IN_THEM)
def test_tailfin_reads_what_java_wrote(settings: Settings, tmp_path: Path) -> None:
    options = ("--count", "3000", "--schedule", "50")
    acks = official.write(tmp_path / "store", tmp_path / "acks", *options, settings=settings)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=settings)
    agree.assert_tailfin_has_all(acks, official.copy(tmp_path / "store", tmp_path / "own"), settings)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, settings)


@pytest.mark.shows("CQ-10")
def test_tailfin_recovers_the_extension_of_a_killed_java(tmp_path: Path) -> None:
    options = ("--count", "3000", "--schedule", "50")
    acks = official.write_and_kill(tmp_path / "store", tmp_path / "acks", *options, settings=EXTENSION)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=EXTENSION)
    agree.assert_tailfin_has_all(acks, official.copy(tmp_path / "store", tmp_path / "own"), EXTENSION)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, EXTENSION)


def test_both_refuse_to_take_records_without_the_checksum_for_good(tmp_path: Path) -> None:
    """What `forceVerifyPropCRC` asks for is really asked for, so that the tests above mean something."""
    with open_store(tmp_path / "store") as store:
        Corpus(store, seed=7).write(50)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=CHECKSUM)
    assert not answers.by_place()
    with open_store(tmp_path / "store", CHECKSUM) as store:
        assert not any(store.max_offset(topic, 0) for topic in store.topics())
