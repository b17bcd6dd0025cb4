from dataclasses import replace
from pathlib import Path

import pytest

from tailfin.broker import names
from tailfin.broker.attributes import changed_attributes
from tailfin.broker.topics import TopicTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.topics import Perm, TopicConfig
from tests.unit.loops import in_loop


def loaded(folder: Path, **settings: object) -> TopicTable:
    config = BrokerConfig(brokerName="broker-a", brokerClusterName="C", **settings)  # type: ignore[arg-type]
    topics = TopicTable(folder, config)
    topics.load()
    return topics


@pytest.mark.shows("TP-01", "TP-02")
def test_default_topic_can_be_inherited(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    default = topics.get(names.DEFAULT_TOPIC)
    assert default is not None
    assert (default.read_queue_nums, default.write_queue_nums, default.perm) == (8, 8, 7)
    assert topics.is_system(names.DEFAULT_TOPIC)


def test_system_topics_have_their_queues_and_permissions(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    found = {name: topics.get(name) for name in topics.system()}
    shape = {name: (t.write_queue_nums, t.perm) for name, t in found.items() if t}
    assert shape["SELF_TEST_TOPIC"] == (1, 6)
    assert shape["BenchmarkTest"] == (1024, 6)
    assert shape["C"] == (16, 7)
    assert shape["broker-a"] == (1, 7)
    assert shape["SCHEDULE_TOPIC_XXXX"] == (18, 6)
    assert shape["C_REPLY_TOPIC"] == (1, 6)
    assert shape["rmq_sys_REVIVE_LOG_C"] == (8, 6)
    assert shape["rmq_sys_SYNC_BROKER_MEMBER_broker-a"] == (1, 1)


@pytest.mark.shows("TP-05", "TP-06", "X-02")
@pytest.mark.parametrize(("wanted", "made"), [(4, 4), (16, 8), (0, 0), (-3, 0)])
def test_first_message_makes_as_many_queues_as_both_sides_allow(
    tmp_path: Path, wanted: int, made: int
) -> None:
    topics = loaded(tmp_path)
    topic = topics.create_for_send("T", names.DEFAULT_TOPIC, wanted)
    assert topic is not None
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (made, made, 6)
    assert topics.get("T") == topic


@pytest.mark.shows("TP-05")
def test_without_auto_creation_no_topic_is_made(tmp_path: Path) -> None:
    topics = loaded(tmp_path, autoCreateTopicEnable=False)
    assert topics.create_for_send("T", names.DEFAULT_TOPIC, 4) is None
    assert topics.create_for_send("T", "SELF_TEST_TOPIC", 4) is None


@pytest.mark.shows("TP-05")
def test_auto_creation_turned_off_holds_though_the_default_topic_is_there(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    assert topics.create_for_send("T", names.DEFAULT_TOPIC, 4)
    topics.config = replace(topics.config, autoCreateTopicEnable=False)
    assert topics.get(names.DEFAULT_TOPIC)
    assert topics.create_for_send("U", names.DEFAULT_TOPIC, 4) is None
    assert topics.create_for_send("T", names.DEFAULT_TOPIC, 4)


@pytest.mark.parametrize("name", ["", " ", "a.b", "a b", "ü", "x" * 128, "a\x00", "../x"])
def test_bad_topic_names_are_refused(tmp_path: Path, name: str) -> None:
    assert names.topic_trouble(name)
    assert loaded(tmp_path).create_for_send(name, names.DEFAULT_TOPIC, 4) is None


@pytest.mark.parametrize("name", ["a|b", "a%b", "x" * 127, "%RETRY%" + "g" * 120, "A-z_0"])
def test_good_topic_names_are_taken(name: str) -> None:
    assert names.topic_trouble(name) is None


@in_loop
async def test_file_has_rocketmqs_shape_and_loads_again(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    topics.put([TopicConfig(topic_name="T", read_queue_nums=3, attributes={"message.type": "FIFO"})])
    topics.file.changed(["T"])
    await topics.file.close()
    text = (tmp_path / "topics.json").read_text()
    assert '"topicConfigTable":{' in text
    assert '"dataVersion":{' in text
    again = loaded(tmp_path)
    assert again.get("T") == topics.get("T")
    assert again.version == topics.version


def test_equal_config_changes_nothing(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    assert topics.put([TopicConfig(topic_name="T")])
    version = topics.version
    assert topics.put([TopicConfig(topic_name="T")]) == []
    assert topics.version == version


def test_changes_are_told(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    told: list[str | None] = []
    topics.on_change = lambda changed: told.extend(topic.topic_name for topic in changed)
    topics.on_delete = lambda name: told.append(f"-{name}")
    topics.put([TopicConfig(topic_name="A"), TopicConfig(topic_name="B")])
    assert topics.delete("A")
    assert not topics.delete("A")
    assert told == ["A", "B", "-A"]


def test_retry_topic_is_made_once(tmp_path: Path) -> None:
    topics = loaded(tmp_path)
    first = topics.create_for_group("%RETRY%G", 2)
    assert (first.read_queue_nums, first.perm) == (2, Perm.READ | Perm.WRITE)
    assert topics.create_for_group("%RETRY%G", 5) == first


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ({}, "+message.type=FIFO", {"message.type": "FIFO"}),
        ({}, "", {}),
        (
            {},
            "+queue.type=BatchCQ,+cleanup.policy=DELETE",
            {"queue.type": "BatchCQ", "cleanup.policy": "DELETE"},
        ),
    ],
)
def test_attributes_of_a_new_topic(before: dict[str, str], text: str, after: dict[str, str]) -> None:
    assert changed_attributes(before, text, new=True) == after


def test_attributes_of_an_existing_topic_change() -> None:
    before = {"message.type": "NORMAL", "reserve.time": "5"}
    assert changed_attributes(before, "+message.type=DELAY,-reserve.time", new=False) == {
        "message.type": "DELAY"
    }


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("message.type=FIFO", True),
        ("+message.type", True),
        ("-message.type", True),
        ("+colour=red", True),
        ("+message.type=MIXED", True),
        ("+message.type=fifo", True),
        ("+queue.type=BatchCQ", False),
        ("-message.type", False),
        ("+reserve.time=soon", True),
        ("+message.type=FIFO,+message.type=DELAY", True),
    ],
)
def test_bad_attributes_are_refused(text: str, new: bool) -> None:
    with pytest.raises(ValueError, match=r"attribute|message\.type"):
        changed_attributes({}, text, new=new)
