from collections.abc import Callable

import pytest

from tailfin.message import decode_message_id, encode_batch
from tailfin.store import AppendRefused, Store


def put(store: Store, topic: str, body: bytes, queue_id: int = 0) -> int:
    """Append, wait until it can be read, and return its queue offset."""
    done = store.append(topic, body, queue_id)
    assert store.wait_for(topic, queue_id, done.queue_offset, 5.0)
    return done.queue_offset


@pytest.mark.shows("CL-14", "CL-18", "U-22")
def test_an_append_tells_where_the_message_stands(store: Store) -> None:
    done = store.append("FooBar", b"Once, there was a chance for me!")
    assert (done.queue_offset, done.physical_offset, done.count) == (0, 0, 1)
    assert done.size == 129
    assert store.max_physical_offset == 129


def test_the_message_id_holds_store_host_and_offset(reopen: Callable[..., Store]) -> None:
    store = reopen(storeHost="10.0.6.82:8123")
    assert store.append("T", b"x").message_id == "0A00065200001FBB0000000000000000"
    second = store.append("T", b"y")
    assert decode_message_id(second.message_id) == ("10.0.6.82:8123", second.physical_offset)


@pytest.mark.shows("CQ-01")
def test_each_queue_counts_for_itself(store: Store) -> None:
    assert [put(store, "A", b"1"), put(store, "A", b"2"), put(store, "A", b"3", 1)] == [0, 1, 0]
    assert put(store, "B", b"4") == 0
    assert store.topics() == {"A": [0, 1], "B": [0]}


def test_every_field_comes_back(store: Store) -> None:
    done = store.append(
        "T",
        b"body",
        3,
        tags="TagA",
        keys="k1 k2",
        properties={"color": "blue", "UNIQ_KEY": "U1"},
        flag=7,
        born_timestamp=1_700_000_000_000,
        born_host="[fe80::1]:4711",
        reconsume_times=2,
    )
    message = store.message_at(done.physical_offset)
    assert message is not None
    assert (message.topic, message.queue_id, message.queue_offset) == ("T", 3, 0)
    assert (message.body, message.flag, message.reconsume_times) == (b"body", 7, 2)
    assert (message.tags, message.keys, message.unique_key) == ("TagA", "k1 k2", "U1")
    assert message.get_property("color") == message.properties["color"] == "blue"
    assert message.get_property("shape") is None
    assert (message.born_timestamp, message.born_host) == (1_700_000_000_000, "[fe80::1]:4711")
    assert (message.store_host, message.store_timestamp) == ("127.0.0.1:10911", done.store_timestamp)
    assert (message.message_id, message.size) == (done.message_id, done.size)


@pytest.mark.shows("CL-26", "CL-27")
def test_a_batch_takes_consecutive_offsets(store: Store) -> None:
    store.append("T", b"before")
    done = store.append_batch("T", [b"a", (b"b", {"TAGS": "x"}), b"c"])
    assert (done.queue_offset, done.count) == (1, 3)
    assert len(done.message_id.split(",")) == 3
    assert store.wait_for("T", 0, 3, 5.0)
    found = store.read("T", 0, 1)
    assert [(each.queue_offset, each.body, each.tags) for each in found] == [
        (1, b"a", None),
        (2, b"b", "x"),
        (3, b"c", None),
    ]


def test_a_batch_in_the_clients_encoding_is_taken(store: Store) -> None:
    batch = encode_batch([(0, b"a", b"TAGS\x01x\x02"), (0, b"b", b"")])
    assert store.append_encoded("T", batch).count == 2
    assert store.wait_for("T", 0, 1, 5.0)
    assert [each.body for each in store.read("T")] == [b"a", b"b"]


@pytest.mark.shows("CL-22", "CL-07")
def test_the_log_rolls_to_the_next_file_and_loses_nothing(store: Store) -> None:
    for number in range(100):
        store.append("T", number.to_bytes(4, "big") * 500)
    assert store.wait_for("T", 0, 99, 5.0)
    assert [int.from_bytes(each.body[:4], "big") for each in store.follow()] == list(range(100))
    assert len(store.log_files()) >= 4


@pytest.mark.shows("CL-19", "RD-14")
def test_prepared_and_rolled_back_messages_take_no_queue_offset(store: Store) -> None:
    assert store.append("T", b"half", sys_flag=0x4).queue_offset == 0
    assert store.append("T", b"undone", sys_flag=0xC).queue_offset == 0
    assert put(store, "T", b"plain") == 0
    assert [each.body for each in store.read("T")] == [b"plain"]
    assert [each.body for each in store.follow()] == [b"half", b"undone", b"plain"]


@pytest.mark.shows("FL-02")
def test_a_sync_append_is_on_disk_when_it_returns(reopen: Callable[..., Store]) -> None:
    store = reopen(flushDiskType="SYNC_FLUSH")
    done = store.append("T", b"safe")
    assert store.flushed_offset >= done.physical_offset + done.size


def test_flush_returns_what_is_safe(store: Store) -> None:
    done = store.append("T", b"x")
    assert store.flush() >= done.physical_offset + done.size


def test_messages_are_there_after_opening_again(reopen: Callable[..., Store]) -> None:
    reopen().append("T", b"kept", keys="k")
    store = reopen()
    assert [each.body for each in store.read("T")] == [b"kept"]
    assert put(store, "T", b"next") == 1


def test_a_refusal_carries_its_status(store: Store) -> None:
    with pytest.raises(AppendRefused) as refused:
        store.append("T", bytes(5 << 20))
    assert refused.value.status == "MESSAGE_ILLEGAL"
    assert refused.value.result is None
