"""File and journal of a table: together they hold everything, whatever happened to either."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tailfin.broker.groups import GroupTable
from tailfin.broker.journal import Journal, line_of
from tailfin.broker.topics import TopicTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from tests.unit.broker.talking import eventually, left_by_a_kill
from tests.unit.loops import in_loop


def table(folder: Path) -> TopicTable:
    topics = TopicTable(folder, BrokerConfig())
    topics.load()
    topics.on_touch = topics.file.changed
    return topics


async def made(topics: TopicTable, *names: str, queues: int = 4) -> None:
    topics.put([TopicConfig(topic_name=name, read_queue_nums=queues) for name in names])
    await topics.file.settled()


def journal_of(folder: Path) -> Path:
    return folder / "topics.json.journal"


@in_loop
async def test_acknowledged_changes_are_in_the_journal_before_the_file_follows(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    topics = table(folder)
    await made(topics, "A", "B")
    topics.delete("A")
    await topics.file.settled()
    assert not (folder / "topics.json").exists()
    found, _ = left_by_a_kill(folder, tmp_path)
    assert "B" in found
    assert "A" not in found
    assert found.version == topics.version

    async def written() -> bool:
        return (folder / "topics.json").exists() and not journal_of(folder).exists()

    await eventually(written)
    assert "B" in json.loads((folder / "topics.json").read_text())["topicConfigTable"]
    await topics.file.close()


@in_loop
async def test_file_after_a_stop_is_what_java_reads_and_the_journal_is_gone(tmp_path: Path) -> None:
    topics = table(tmp_path)
    await made(topics, "B")
    await topics.file.close()
    topics = table(tmp_path)
    await made(topics, "A", "C")
    await topics.file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["topics.json", "topics.json.bak"]
    snapshot = topics.snapshot()
    whole = replace(snapshot, topic_config_table=dict(sorted(snapshot.topic_config_table.items())))
    assert (tmp_path / "topics.json").read_bytes() == whole.to_json(pretty=True)


@in_loop
async def test_closing_without_a_change_writes_nothing(tmp_path: Path) -> None:
    topics = table(tmp_path)
    await topics.file.close()
    assert list(tmp_path.iterdir()) == []


@in_loop
async def test_torn_end_is_dropped_and_said_and_the_journal_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "config"
    await made(table(folder), "A", "B")
    whole = journal_of(folder).read_bytes()
    for cut in range(1, 40):
        journal_of(folder).write_bytes(whole + whole[:cut])
        with caplog.at_level(logging.WARNING, "tailfin.broker"):
            found, _ = left_by_a_kill(folder, tmp_path)
        assert "A" in found
        assert f"ends in {cut} bytes" in caplog.text
    journal = Journal(journal_of(folder))
    assert len(journal.read()) == 1
    journal.append([line_of({"changed": ["A"], "dataVersion": {"counter": 99}})])
    found, _ = left_by_a_kill(folder, tmp_path)
    assert "A" not in found
    assert "B" in found


@in_loop
async def test_damaged_line_is_said_and_the_others_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "config"
    topics = table(folder)
    for name in ("A", "B", "C"):
        await made(topics, name)
    first, second, third = journal_of(folder).read_bytes().splitlines(keepends=True)
    journal_of(folder).write_bytes(first + second.replace(b'"B"', b'"X"') + line_of([1]) + third)
    with caplog.at_level(logging.ERROR, "tailfin.broker"):
        found, _ = left_by_a_kill(folder, tmp_path)
    assert "line 2 is damaged" in caplog.text
    assert "no change of this table" in caplog.text
    assert [name in found for name in ("A", "B", "X", "C")] == [True, False, False, True]


@in_loop
async def test_journal_that_the_file_has_overtaken_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    topics = table(folder)
    await made(topics, "A", queues=1)
    topics.delete("A")
    await topics.file.settled()
    await made(topics, "B", queues=2)
    left = journal_of(folder).read_bytes()
    await topics.file.close()
    # As if the power had gone between the new file and the end of the journal.
    journal_of(folder).write_bytes(left)
    found, _ = left_by_a_kill(folder, tmp_path)
    assert "A" not in found
    assert found.get("B") == topics.get("B")
    assert found.version == topics.version


@in_loop
async def test_after_another_brokers_changes_the_journal_only_adds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "config"
    topics = table(folder)
    await made(topics, "Old")
    await topics.file.close()
    topics = table(folder)
    await made(topics, "Old", queues=7)
    await made(topics, "Mine", "Gone", queues=7)
    topics.delete("Gone")
    await topics.file.settled()
    file = folder / "topics.json"
    theirs = TopicConfigSerializeWrapper.from_json(file.read_bytes())
    entries = {**theirs.topic_config_table, "Theirs": TopicConfig(topic_name="Theirs")}
    version = replace(theirs.data_version, counter=theirs.data_version.counter + 1, timestamp=1)
    file.write_bytes(replace(theirs, topic_config_table=entries, data_version=version).to_json())
    with caplog.at_level(logging.WARNING, "tailfin.broker"):
        found, _ = left_by_a_kill(folder, tmp_path)
    assert "changed by another broker" in caplog.text
    queues = {
        name: topic.read_queue_nums
        for name in ("Old", "Mine", "Gone", "Theirs")
        if (topic := found.get(name))
    }
    assert queues == {"Old": 4, "Mine": 7, "Theirs": 16}


@in_loop
async def test_lost_file_is_made_up_for_by_backup_and_journal(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    for name in ("A", "B"):
        topics = table(folder)
        await made(topics, name)
        await topics.file.close()
    await made(table(folder), "C")
    (folder / "topics.json").write_text("{")
    found, _ = left_by_a_kill(folder, tmp_path)
    assert "A" in found
    assert "C" in found


@in_loop
async def test_journal_that_cannot_be_written_is_said_and_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    topics = table(folder)
    folder.write_text("a file where a folder should be")
    topics.put([TopicConfig(topic_name="A")])
    with pytest.raises(OSError, match="config"):
        await topics.file.settled()
    folder.unlink()
    await topics.file.settled()
    found, _ = left_by_a_kill(folder, tmp_path)
    assert "A" in found
    await topics.file.close()


@in_loop
async def test_groups_and_what_they_may_not_read_are_kept_alike(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    groups = GroupTable(folder, BrokerConfig())
    groups.on_touch = groups.file.changed
    groups.put([SubscriptionGroupConfig(group_name=name) for name in ("A", "B")])
    groups.set_readable("A", "T", False)
    groups.set_readable("nobody", "T", False)
    await groups.file.settled()
    groups.delete("B")
    groups.set_readable("A", "U", False)
    groups.set_readable("A", "T", True)
    await groups.file.settled()
    _, found = left_by_a_kill(folder, tmp_path)
    assert "A" in found
    assert "B" not in found
    assert found.forbidden_topics("A") == ["U"]
    assert found.forbidden_topics("nobody") == ["T"]
    await groups.file.close()
