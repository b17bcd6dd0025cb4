import time

import pytest

from tailfin.store import Store


@pytest.fixture
def times(store: Store) -> list[int]:
    """Store times of three messages, some milliseconds apart."""
    stored = []
    for body in (b"a", b"b", b"c"):
        stored.append(store.append("T", body).store_timestamp)
        time.sleep(0.01)
    assert store.wait_for("T", 0, 2, 5.0)
    return stored


@pytest.mark.shows("CQ-08")
def test_the_first_message_at_or_after_a_time_is_found(store: Store, times: list[int]) -> None:
    assert [store.offset_at_time("T", 0, moment) for moment in times] == [0, 1, 2]
    assert store.offset_at_time("T", 0, times[0] + 1) == 1


def test_the_last_message_at_or_before_a_time_is_found(store: Store, times: list[int]) -> None:
    assert [store.offset_at_time("T", 0, moment, upper=True) for moment in times] == [0, 1, 2]
    assert store.offset_at_time("T", 0, times[1] - 1, upper=True) == 0


@pytest.mark.shows("CQ-08")
def test_times_outside_the_queue_give_its_ends(store: Store, times: list[int]) -> None:
    assert store.offset_at_time("T", 0, 0) == 0
    assert store.offset_at_time("T", 0, times[-1] + 100_000) == 3
    assert store.offset_at_time("Unknown", 0, times[0]) == 0
