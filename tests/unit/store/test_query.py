import time

import pytest

from tailfin.store import Store


@pytest.fixture
def keyed(store: Store) -> Store:
    store.append("T", b"1", keys="order-1 blue")
    store.append("T", b"2", keys="order-2 blue", properties={"UNIQ_KEY": "U2"})
    store.append("Other", b"3", keys="blue")
    until = time.monotonic() + 5
    while store.dispatched_offset < store.max_physical_offset and time.monotonic() < until:
        time.sleep(0.001)
    return store


@pytest.mark.shows("IX-11", "IX-14", "QY-03")
def test_each_key_finds_its_messages_newest_first(keyed: Store) -> None:
    assert [each.body for each in keyed.query("T", "blue")] == [b"2", b"1"]
    assert [each.body for each in keyed.query("T", "order-1")] == [b"1"]
    assert [each.body for each in keyed.query("T", "U2")] == [b"2"]


def test_keys_belong_to_their_topic(keyed: Store) -> None:
    assert [each.body for each in keyed.query("Other", "blue")] == [b"3"]
    assert keyed.query("Other", "order-1") == []


def test_a_query_keeps_its_time_range_and_limit(keyed: Store) -> None:
    first = keyed.message_at(0)
    assert first is not None
    assert keyed.query("T", "blue", end=first.store_timestamp - 60_000) == []
    assert keyed.query("T", "blue", begin=first.store_timestamp + 60_000) == []
    assert len(keyed.query("T", "blue", limit=1)) == 1
