import itertools
import threading
import time
from pathlib import Path

import pytest

from tailfin.store import Store, StoreClosed, StoreDamaged


def test_follow_yields_all_topics_in_stored_order_and_ends(store: Store) -> None:
    for number in range(10):
        store.append(f"T{number % 3}", b"%d" % number)
    assert [each.body for each in store.follow()] == [b"%d" % number for number in range(10)]


def test_follow_begins_at_an_offset(store: Store) -> None:
    store.append("T", b"1")
    second = store.append("T", b"2")
    assert [each.body for each in store.follow(second.physical_offset)] == [b"2"]
    assert list(store.follow(store.max_physical_offset)) == []


def test_follow_waits_for_what_is_yet_to_come(store: Store) -> None:
    writer = threading.Timer(0.1, store.append, ("T", b"late"))
    writer.start()
    follower = store.follow(timeout=None)
    assert next(follower).body == b"late"
    writer.join()


def test_follow_gives_up_after_its_timeout(store: Store) -> None:
    began = time.monotonic()
    assert list(store.follow(timeout=0.2)) == []
    assert 0.15 < time.monotonic() - began < 5


def test_follow_refuses_an_offset_inside_a_record(store: Store) -> None:
    store.append("T", b"1")
    with pytest.raises(ValueError, match=r"."):
        next(store.follow(3))


def test_follow_ends_with_an_error_when_the_store_is_closed(store: Store) -> None:
    store.append("T", b"1")
    follower = store.follow(timeout=None)
    assert next(follower).body == b"1"
    store.close()
    with pytest.raises(StoreClosed):
        next(follower)


def test_two_followers_do_not_disturb_each_other(store: Store) -> None:
    for number in range(5):
        store.append("T", b"%d" % number)
    pairs = itertools.zip_longest(store.follow(), store.follow())
    assert all(one is not None and other is not None and one.body == other.body for one, other in pairs)


def test_follow_stops_at_damage_and_says_where_to_go_on(store: Store, tmp_path: Path) -> None:
    places = [store.append("T", b"%d" % number).physical_offset for number in range(4)]
    assert store.wait_for("T", 0, 3, 5.0)
    file = tmp_path / "data" / "commitlog" / f"{0:020}"
    with file.open("r+b") as stream:
        stream.seek(places[2] + 4)
        stream.write(b"XXXX")
    follower = store.follow()
    assert [next(follower).body, next(follower).body] == [b"0", b"1"]
    with pytest.raises(StoreDamaged, match=f"offset {places[2]} is damaged; go on at {places[3]} "):
        next(follower)
    assert [message.body for message in store.follow(places[3])] == [b"3"]
