import pytest

from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.spark.options import SourceOptions
from tailfin.spark.selection import Selection, selection


def chosen(**given: str) -> Selection:
    return selection(SourceOptions.parse({"nameServer": "ns:9876", **given}))


def test_topics_are_a_list_of_names() -> None:
    assert chosen(topic=" a, b,,a ").topics == ("a", "b")


def test_a_pattern_must_match_the_whole_name() -> None:
    assert chosen(topicPattern="order.*|x").matching(["x", "orders", "reorder", "xx"]) == ("orders", "x")


def test_single_queues_are_chosen_by_assign() -> None:
    found = chosen(assign='{"b": {"broker-a": [1]}, "a": {"broker-b": [0, 2]}}')

    assert found.topics == ("a", "b")
    assert found.wants(Queue("a", "broker-b", 2))
    assert not found.wants(Queue("a", "broker-b", 1))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topic": ","}, "topic names no topic"),
        ({"topicPattern": "("}, "topicPattern '\\(' is no pattern"),
        ({"assign": "["}, "assign is no JSON"),
        ({"assign": "[]"}, "assign must look like"),
        ({"assign": '{"a": [0]}'}, "assign must look like"),
        ({"assign": '{"a": {"b": 0}}'}, "0 is no list of queues"),
        ({"assign": '{"a": {"b": ["0"]}}'}, "is no list of queues"),
        ({"assign": '{"a": {"b": []}}'}, "assign names no queue"),
    ],
)
def test_a_choice_of_nothing_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        chosen(**given)
