import pytest

from tests.unit.hot.node import (
    GROUP,
    MAX_OFFSET,
    MIN_OFFSET,
    QUERY_OFFSET,
    TOPIC,
    UPDATE_OFFSET,
    Client,
    Node,
)

PLACE = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0}


@pytest.mark.shows("OF-01")
def test_a_committed_offset_is_told_again(node: Node, client: Client) -> None:
    version = node.hot.offsets_version()
    assert client.ask(UPDATE_OFFSET, {**PLACE, "commitOffset": 42}).code == 0
    assert client.ask(QUERY_OFFSET, PLACE).fields == {"offset": "42"}
    assert node.hot.offsets() == {f"{TOPIC}@{GROUP}": {0: 42}}
    assert node.hot.offsets_version() > version


def test_a_new_group_begins_at_zero_while_the_first_message_is_in_memory(node: Node, client: Client) -> None:
    assert client.ask(QUERY_OFFSET, PLACE).code == 22, "an empty queue: the client decides"
    node.fill(3)
    assert client.ask(QUERY_OFFSET, PLACE).fields == {"offset": "0"}
    assert client.ask(QUERY_OFFSET, {**PLACE, "setZeroIfNotFound": "false"}).code == 22
    assert node.hot.offsets() == {}


def test_a_reset_shows_in_queries_and_outlives_commits(node: Node, client: Client) -> None:
    client.ask(UPDATE_OFFSET, {**PLACE, "commitOffset": 9})
    node.hot.reset_offset(GROUP, TOPIC, 0, 4)
    assert client.ask(QUERY_OFFSET, PLACE).fields == {"offset": "4"}
    reply = client.ask(UPDATE_OFFSET, {**PLACE, "commitOffset": 10})
    assert (reply.code, reply.remark) == (0, "Offset has been previously reset")
    assert client.ask(QUERY_OFFSET, PLACE).fields == {"offset": "4"}


@pytest.mark.shows("OF-06")
def test_the_ends_of_a_queue(node: Node, client: Client) -> None:
    place = {"topic": TOPIC, "queueId": 0}
    assert client.ask(MAX_OFFSET, place).fields == {"offset": "0"}
    node.fill(7)
    assert client.ask(MAX_OFFSET, place).fields == {"offset": "7"}
    assert client.ask(MAX_OFFSET, {**place, "committed": "false"}).fields == {"offset": "7"}
    assert client.ask(MIN_OFFSET, place).fields == {"offset": "0"}


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (QUERY_OFFSET, {**PLACE, "consumerGroup": "unknown"}),
        (QUERY_OFFSET, {**PLACE, "topic": "Unknown"}),
        (UPDATE_OFFSET, {**PLACE, "topic": "Unknown", "commitOffset": 1}),
        (MAX_OFFSET, {"topic": "Unknown", "queueId": 0}),
        (MIN_OFFSET, {"topic": "Unknown", "queueId": 0}),
    ],
)
def test_what_the_rulebook_does_not_know_is_left_to_python(
    node: Node, client: Client, code: int, fields: dict[str, object]
) -> None:
    client.post(code, fields)
    assert node.next_request().code == code


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (QUERY_OFFSET, {**PLACE, "queueId": "x"}),
        (UPDATE_OFFSET, PLACE),
        (UPDATE_OFFSET, {**PLACE, "commitOffset": "1e3"}),
        (MAX_OFFSET, {"topic": TOPIC}),
        (MIN_OFFSET, {"queueId": 0}),
    ],
)
def test_a_request_that_lacks_something_is_told_what(
    node: Node, client: Client, code: int, fields: dict[str, object]
) -> None:
    reply = client.ask(code, fields)
    assert reply.code == 1
    assert "field" in (reply.remark or "")


@pytest.mark.parametrize("queue_id", [-1, 4, 2**31 - 1])
def test_offsets_of_queues_that_do_not_exist_are_not_kept(node: Node, client: Client, queue_id: int) -> None:
    assert client.ask(UPDATE_OFFSET, {**PLACE, "queueId": queue_id, "commitOffset": 1}).code == 29
    assert node.hot.offsets() == {}


def test_offsets_are_loaded_dropped_and_asked_for_by_python(node: Node) -> None:
    hot = node.hot
    hot.load_offsets({"T@G": {0: 1, 1: 2}, "T@H": {0: 3}, "U@G": {0: 4}})
    assert hot.committed_offset("G", "T", 1) == 2
    hot.commit_offset("G", "T", 1, 5)
    assert hot.offsets()["T@G"] == {0: 1, 1: 5}
    hot.drop_offsets(topic="T", group="G")
    assert sorted(hot.offsets()) == ["T@H", "U@G"]
    hot.drop_offsets(group="G")
    hot.drop_offsets(topic="T")
    assert hot.offsets() == {}
    with pytest.raises(ValueError, match="say whose offsets"):
        hot.drop_offsets()
    with pytest.raises(ValueError, match="topic@group"):
        hot.load_offsets({"nonsense": {}})


@pytest.mark.parametrize("changes", [{"unknownKey": 1}, {"brokerId": "x"}, {"brokerPermission": None}])
def test_options_must_be_complete_and_known(node: Node, changes: dict[str, int | bool | str]) -> None:
    from tailfin.config.hot import hot_options

    with pytest.raises(ValueError, match="option"):
        node.hot.set_options({**hot_options(node.config), **changes})
