import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tailfin.message import java_hash
from tailfin.store import Store


@pytest.fixture
def filled(store: Store) -> Store:
    """Twenty messages in T/0, tagged a and b in turn."""
    for number in range(20):
        store.append("T", f"{number}".encode(), tags="ab"[number % 2])
    assert store.wait_for("T", 0, 19, 5.0)
    return store


@pytest.mark.shows("FI-01")
def test_a_queue_holds_the_hash_of_each_tag(filled: Store) -> None:
    filled.flush_queues()
    file = Path(filled.config.storePathRootDir) / "consumequeue" / "T" / "0" / f"{0:020}"
    units = struct.iter_unpack(">qiq", file.read_bytes()[:60])
    assert [tag for _, _, tag in units] == [java_hash("a"), java_hash("b"), java_hash("a")]


def test_a_read_returns_the_messages_from_an_offset_on(filled: Store) -> None:
    result = filled.read("T", 0, 5, 3)
    assert (result.status, len(result), result.next_offset) == ("FOUND", 3, 8)
    assert [each.body for each in result] == [b"5", b"6", b"7"]
    assert result[0].queue_offset == 5
    assert (result.min_offset, result.max_offset) == (0, 20)
    assert result.size == sum(each.size for each in result)


@pytest.mark.parametrize(
    ("topic", "offset", "status", "next_offset"),
    [
        ("T", 20, "OFFSET_OVERFLOW_ONE", 20),
        ("T", 25, "OFFSET_OVERFLOW_BADLY", 20),
        ("T", -1, "OFFSET_TOO_SMALL", 0),
    ],
)
def test_a_read_outside_the_queue_says_where_to_go_on(
    filled: Store, topic: str, offset: int, status: str, next_offset: int
) -> None:
    result = filled.read(topic, 0, offset)
    assert (result.status, result.next_offset, len(result)) == (status, next_offset, 0)


@pytest.mark.shows("ST-19")
def test_a_read_of_an_unknown_topic_is_an_empty_result(filled: Store) -> None:
    assert filled.read("TOPIC_A").status in ("NO_MATCHED_LOGIC_QUEUE", "NO_MESSAGE_IN_QUEUE")


def test_a_read_filters_by_tag(filled: Store) -> None:
    assert {each.tags for each in filled.read("T", tags="a")} == {"a"}
    assert len(filled.read("T", tags="a || b")) == len(filled.read("T", tags="*")) == 20
    nothing = filled.read("T", tags="c")
    assert (nothing.status, len(nothing)) == ("NO_MATCHED_MESSAGE", 0)
    assert nothing.next_offset > 0


def test_a_read_keeps_its_byte_limit_but_returns_one_message_at_least(filled: Store) -> None:
    size = filled.read("T", 0, 0, 1).size
    assert len(filled.read("T", max_bytes=3 * size)) == 3
    assert len(filled.read("T", max_bytes=1)) == 1


def test_units_of_the_queue_are_offset_size_and_tag_hash(filled: Store) -> None:
    units = filled.queue_units("T", 0, 0, 2)
    messages = list(filled.read("T", 0, 0, 2))
    assert units == [(each.physical_offset, each.size, java_hash(each.tags or "")) for each in messages]


def test_a_message_is_found_by_offset_and_by_id(filled: Store) -> None:
    message = filled.read("T", 0, 7)[0]
    by_offset = filled.message_at(message.physical_offset)
    by_id = filled.message_by_id(message.message_id)
    assert by_offset is not None
    assert by_id is not None
    assert by_offset.body == by_id.body == b"7"
    assert filled.message_at(message.physical_offset + 1) is None
    with pytest.raises(ValueError, match=r"."):
        filled.message_by_id("no id")


def test_waiting_ends_with_the_message_or_the_time(store: Store) -> None:
    assert not store.wait_for("T", 0, 0, 0.01)
    store.append("T", b"x")
    assert store.wait_for("T", 0, 0, 5.0)


def test_a_message_outlives_its_store(reopen: Callable[..., Store]) -> None:
    store = reopen()
    store.append("T", b"kept in memory")
    assert store.wait_for("T", 0, 0, 5.0)
    message = store.read("T")[0]
    store.close()
    assert message.body == b"kept in memory"
