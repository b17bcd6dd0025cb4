"""Messages that stand in several queues (`INNER_MULTI_DISPATCH`), written by either side."""

from pathlib import Path

import pytest

from tests.interop import agree, official
from tests.interop.corpus import Corpus, open_store
from tests.interop.official import SMALL, Answers, Line, Settings
from tests.interop.test_same_bytes import queue_files, without_derived

LIGHT: Settings = {**SMALL, "enableLmq": True, "enableMultiDispatch": True}
EXTENDED: Settings = {**LIGHT, "enableConsumeQueueExt": True, "mappedFileSizeConsumeQueueExt": 4096}
JAVA_OPTIONS = ("--count", "2000", "--light", "800")


def tailfin_writes(directory: Path, seed: int, settings: Settings = LIGHT) -> list[Line]:
    with open_store(directory, settings) as store:
        return Corpus(store, seed).write(2000, light=800)


def assert_light_queues(answers: Answers) -> None:
    """Each light queue holds the messages that name it, in their order."""
    light = {topic for topic, _ in answers.queues if topic.startswith("%LMQ%")}
    assert len(light) >= 4
    for topic in light:
        naming = [line for line in answers.by_place().values() if topic in names_of(line)]
        in_order = sorted(naming, key=lambda line: int(line["physicalOffset"]))
        assert answers.messages[topic, 0] == in_order
        assert len(in_order) > 100


def names_of(line: Line) -> list[str]:
    names: str = line["properties"].get("INNER_MULTI_DISPATCH", "")
    return names.split(",")


@pytest.mark.parametrize("write", [official.write, official.write_and_kill], ids=["closed", "killed"])
@pytest.mark.shows("RD-16", "RD-17")
def test_tailfin_reads_the_light_queues_of_java(write: official.Writer, tmp_path: Path) -> None:
    acks = write(tmp_path / "store", tmp_path / "acks", *JAVA_OPTIONS, settings=LIGHT)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=LIGHT)
    assert_light_queues(answers)
    agree.assert_tailfin_has_all(acks, official.copy(tmp_path / "store", tmp_path / "own"), LIGHT)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, LIGHT)


@pytest.mark.shows("RD-16", "RD-17")
def test_java_reads_the_light_queues_of_tailfin(tmp_path: Path) -> None:
    acks = tailfin_writes(tmp_path / "store", 8)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=LIGHT)
    assert any("%LMQ%no/queue" in names_of(ack) for ack in acks)
    assert_light_queues(answers)
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, LIGHT)


def test_light_queues_go_on_when_the_directory_changes_hands(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    acks = official.write(directory, tmp_path / "acks-1", *JAVA_OPTIONS, settings=LIGHT)
    acks += tailfin_writes(directory, 9)
    acks += official.write(directory, tmp_path / "acks-2", *JAVA_OPTIONS, "--seed", "2", settings=LIGHT)
    answers = official.read(official.copy(directory, tmp_path / "read"), settings=LIGHT)
    assert_light_queues(answers)
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_answers_alike(directory, answers, LIGHT)


@pytest.mark.parametrize("settings", [pytest.param(LIGHT, id="plain"), pytest.param(EXTENDED, id="extended")])
def test_light_queue_files_are_the_same_from_either_side(settings: Settings, tmp_path: Path) -> None:
    tailfin_writes(tmp_path / "store", 10, settings)
    rebuilt = without_derived(tmp_path / "store", tmp_path / "rebuilt")
    official.rebuild(rebuilt, settings=settings)
    for part in ("consumequeue", "consumequeue_ext"):
        own, other = queue_files(tmp_path / "store", part), queue_files(rebuilt, part)
        assert own.keys() == other.keys()
        assert [name for name in own if own[name] != other[name]] == []


def test_without_light_queues_a_name_of_theirs_is_nothing_special(tmp_path: Path) -> None:
    settings = {**SMALL, "enableMultiDispatch": True}
    tailfin_writes(tmp_path / "store", 10, settings)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"), settings=settings)
    assert not any(topic.startswith("%LMQ%") for topic, _ in answers.queues)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers, settings)
