"""A directory that the official store wrote, closed in order or killed, opened by Tailfin."""

from pathlib import Path

import pytest

from tests.interop import agree, official
from tests.interop.conftest import Written
from tests.interop.corpus import open_store


def test_the_corpus_has_every_shape(java_closed: Written) -> None:
    """So that agreement below means something."""
    acks, directory = java_closed.acks, java_closed.directory
    assert len(acks) >= 20_000
    assert (
        len({(ack["topic"], ack["queueId"]) for ack in acks if ack["topic"] != "SCHEDULE_TOPIC_XXXX"}) == 16
    )
    assert any(ack["batch"] for ack in acks)
    assert any(ack["bornHost"].startswith("[") for ack in acks)
    assert any(ack["storeHost"].startswith("[") for ack in acks)
    assert any(ack["bodyLength"] == 1 << 20 for ack in acks)
    assert {ack["sysFlag"] & 12 for ack in acks} == {0, 4, 8, 12}
    assert len(list((directory / "commitlog").iterdir())) > 3
    assert len(list((directory / "index").iterdir())) > 1
    assert len(list((directory / "consumequeue" / "CorpusA" / "0").iterdir())) > 1


@pytest.mark.shows("CL-13", "CL-16", "CL-17", "CL-31", "CQ-01", "CQ-03", "CQ-11", "ST-22")
def test_every_message_and_queue_is_as_java_says(java_written: Written, tmp_path: Path) -> None:
    directory = official.copy(java_written.directory, tmp_path / "store")
    with open_store(directory) as store:
        agree.assert_same_queues(store, java_written.answers)


@pytest.mark.shows("CQ-08", "RD-14")
def test_tags_and_times_lead_where_they_do_in_java(java_written: Written, tmp_path: Path) -> None:
    directory = official.copy(java_written.directory, tmp_path / "store")
    with open_store(directory) as store:
        agree.assert_same_tagged(store, java_written.answers)
        agree.assert_same_times(store, java_written.answers)
        assert store.offset_at_time("no such topic", 0, 1) == 0


@pytest.mark.shows("IX-01", "IX-03", "IX-11", "IX-14")
def test_keys_find_what_they_find_in_java(java_written: Written, tmp_path: Path) -> None:
    directory = official.copy(java_written.directory, tmp_path / "store")
    with open_store(directory) as store:
        agree.assert_same_keys(store, java_written.answers)


@pytest.mark.shows("U-17")
def test_everything_java_acknowledged_is_there(java_written: Written, tmp_path: Path) -> None:
    directory = official.copy(java_written.directory, tmp_path / "store")
    agree.assert_tailfin_has_all(java_written.acks, directory)
    agree.assert_java_has_all(java_written.acks, java_written.answers)


def test_a_second_opening_finds_the_same(java_killed: Written, tmp_path: Path) -> None:
    """What Tailfin recovered and closed is complete on the disk."""
    directory = official.copy(java_killed.directory, tmp_path / "store")
    open_store(directory).close()
    assert not (directory / "abort").exists()
    agree.assert_tailfin_answers_alike(directory, java_killed.answers)


def test_java_finds_the_same_after_tailfin_opened_and_closed_it(java_killed: Written, tmp_path: Path) -> None:
    directory = official.copy(java_killed.directory, tmp_path / "store")
    open_store(directory).close()
    after = official.read(directory)
    assert after.messages == java_killed.answers.messages
    assert after.tagged == java_killed.answers.tagged
    assert after.times == java_killed.answers.times
