import pytest

from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.spark.places import Ends, Place, Where, where

Q0, Q1 = Queue("orders", "broker-a", 0), Queue("orders", "broker-a", 1)
THERE = {Q0: Ends(10, 100), Q1: Ends(0, 0)}


def starting(offsets: str = "", timestamp: str = "", default: str = "earliest") -> Where:
    return where("starting", offsets, timestamp, default)


def test_earliest_and_latest_are_the_ends_of_every_queue() -> None:
    for text, wanted in (("earliest", (10, 0)), ("latest", (100, 0)), (" LATEST ", (100, 0)), ("", (10, 0))):
        found = starting(text)
        assert tuple(found.offset(queue, ends, {}) for queue, ends in THERE.items()) == wanted


def test_json_says_an_offset_for_each_queue_and_minus_one_and_two_are_the_ends() -> None:
    found = starting('{"orders": {"broker-a": {"0": 42, "1": -1}}}')

    found.check(THERE)
    assert [found.offset(queue, ends, {}) for queue, ends in THERE.items()] == [42, 0]
    assert found.of(Q1) == Place("last")
    assert starting('{"orders": {"broker-a": {"0": -2}}}').offset(Q0, THERE[Q0], {}) == 10


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1767225600000", 1767225600000),
        ("2026-01-01T00:00:00Z", 1767225600000),
        ("2026-01-01T01:00:00+01:00", 1767225600000),
        ("2026-01-01 00:00:00.250", 1767225600250),
        ("2026-01-01", 1767225600000),
    ],
)
def test_a_time_is_iso_8601_or_milliseconds(text: str, milliseconds: int) -> None:
    assert starting(timestamp=text).of(Q0) == Place("time", milliseconds)
    nested = f'{{"orders": {{"broker-a": {{"0": "{text}"}}}}}}'
    assert starting(timestamp=nested).of(Q0) == Place("time", milliseconds)


def test_brokers_are_asked_about_times_only_and_answers_stay_within_the_queue() -> None:
    found = starting(timestamp="5")

    assert found.times(THERE) == {Q0: 5, Q1: 5}
    assert starting("latest").times(THERE) == {}
    assert [found.offset(Q0, THERE[Q0], {Q0: at}) for at in (-1, 50, 101)] == [10, 50, 100]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("first", "startingOffsets: earliest, latest, or JSON"),
        ("{", "startingOffsets is no JSON"),
        ('{"orders": 3}', "startingOffsets must look like"),
        ('{"orders": {"broker-a": {"x": 1}}}', "'x' is no number of a queue"),
        ('{"orders": {"broker-a": {"0": "1"}}}', "queue 0 of orders on broker-a: earliest, latest"),
        ('{"orders": {"broker-a": {"0": 1.5}}}', "an offset is a whole number, not 1.5"),
        ('{"orders": {"broker-a": {"0": true}}}', "an offset is a whole number, not True"),
        ('{"orders": {"broker-a": {"0": -3}}}', "an offset of 0 or more"),
    ],
)
def test_json_that_says_no_place_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        starting(text)


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="startingTimestamp: a time such as 2026-01-31T00:00:00Z"):
        starting(timestamp="yesterday")


def test_a_queue_that_json_forgets_or_that_is_not_there_is_named() -> None:
    found = starting('{"orders": {"broker-a": {"0": 1, "7": 1}}}')

    with pytest.raises(ConfigError, match="names queue 7 of orders on broker-a, which is not there"):
        found.check(THERE)
    with pytest.raises(ConfigError, match="does not name queue 1 of orders on broker-a"):
        found.offset(Q1, THERE[Q1], {})


def test_an_offset_behind_the_end_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="queue 0 of orders on broker-a ends at 100: there is no offset 101"
    ):
        starting('{"orders": {"broker-a": {"0": 101}}}').offset(Q0, THERE[Q0], {})
