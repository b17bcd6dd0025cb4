"""Retry, dead letters and order, as the official Java client of both generations sees them."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.interop.clients.java_client import Saw, saw

Java = dict[str, Saw]
Seen = dict[str, Any]

LEVEL_2_MS = 2000
"""What the clusters of these tests have for level 2; the others have a second."""

GIVEN = {"CLUSTER", "KEYS", "MSG_REGION", "TAGS", "TRACE_ON", "UNIQ_KEY", "WAIT", "color"}
READ = {"MIN_OFFSET", "MAX_OFFSET"}
HANDED_BACK = {"DELAY", "ORIGIN_MESSAGE_ID", "RETRY_TOPIC"}
WAITED = {"REAL_TOPIC", "REAL_QID"}


def by_key(messages: Iterable[Seen], key: str) -> list[Seen]:
    """Return what was seen of one message, in the order of its attempts."""
    return sorted((m for m in messages if m["keys"] == key), key=lambda m: int(m["reconsumed"]))


def origin(line: Saw, key: str) -> Seen:
    """Return the send of a message."""
    (sent,) = (message for message in line["sent"] if message["keys"] == key)
    found: Seen = sent
    return found


def assert_came_back(line: Saw, attempts: list[Seen], topic: str) -> None:
    """Hold that each attempt was the same message, and knew where it came from."""
    sent = origin(line, attempts[0]["keys"])
    assert [attempt["reconsumed"] for attempt in attempts] == list(range(len(attempts)))
    for attempt in attempts:
        assert (attempt["topic"], attempt["id"], attempt["body"]) == (topic, sent["id"], sent["body"])
        assert (attempt["flag"], attempt["sysFlag"]) == (attempts[0]["flag"], 0)
    for attempt in attempts[1:]:
        properties = attempt["properties"]
        assert properties["ORIGIN_MESSAGE_ID"] == attempts[0]["offsetId"]
        assert properties["RETRY_TOPIC"] == topic
        assert properties["REAL_TOPIC"].startswith("%RETRY%")
        assert properties["WAIT"] == "false"
        assert properties["DELAY"] == str(2 + attempt["reconsumed"])


@pytest.mark.shows("RT-04", "RT-07", "RT-08", "RT-09", "U-07", "U-08", "U-10", "ID-02")
@pytest.mark.parametrize(
    ("key", "attempts"), [("key-0", 3), ("key-1", 2), ("key-2", 2), ("key-4", 2), ("key-5", 1)]
)
def test_a_message_that_failed_comes_again_as_itself(java: Java, key: str, attempts: int) -> None:
    """Whether its listener said later, nothing or an exception, and delayed or not; success ends it."""
    line = saw(java, "retry")
    seen = by_key(line["attempts"], key)
    assert len(seen) == attempts
    assert_came_back(line, seen, seen[0]["topic"])


@pytest.mark.shows("RT-06", "RT-08", "DQ-01", "DQ-02", "U-09")
def test_a_message_that_never_succeeds_is_a_dead_letter_after_the_last_retry(java: Java) -> None:
    line = saw(java, "retry")
    attempts = by_key(line["attempts"], "key-3")
    assert_came_back(line, attempts, attempts[0]["topic"])
    assert len(attempts) == 3, "the consumer allows two retries"
    (dead,) = line["dead"]
    sent = origin(line, "key-3")
    assert (dead["keys"], dead["body"], dead["id"]) == ("key-3", sent["body"], sent["id"])
    assert (dead["reconsumed"], dead["queue"], dead["flag"]) == (3, 0, attempts[0]["flag"])
    assert dead["properties"].keys() == GIVEN | READ | HANDED_BACK | WAITED
    assert dead["properties"]["RETRY_TOPIC"] == attempts[0]["topic"]
    assert dead["properties"]["ORIGIN_MESSAGE_ID"] == sent["offsetId"]
    assert (dead["properties"]["DELAY"], dead["properties"]["WAIT"]) == ("0", "false")
    assert line["deadQueues"] == line["retryQueues"] == [[1, 1, 6]]


@pytest.mark.shows("RT-08")
def test_the_retry_topic_holds_each_retry_once_with_all_that_belongs_to_it(java: Java) -> None:
    line = saw(java, "retry")
    held = sorted((message["keys"], message["reconsumed"]) for message in line["retried"])
    again = [("key-0", 1), ("key-0", 2), ("key-1", 1), ("key-2", 1), ("key-3", 1), ("key-3", 2), ("key-4", 1)]
    assert held == again
    for message in line["retried"]:
        assert message["properties"].keys() == GIVEN | READ | HANDED_BACK | WAITED
        assert message["properties"]["REAL_TOPIC"] == message["topic"]
        assert message["properties"]["DELAY"] == str(2 + message["reconsumed"])


def test_a_delayed_message_keeps_its_own_properties(java: Java) -> None:
    (first, _) = by_key(saw(java, "retry")["attempts"], "key-4")
    properties = first["properties"]
    assert properties.keys() - {"CONSUME_START_TIME"} == GIVEN | READ | WAITED | {"DELAY"}
    assert (properties["DELAY"], properties["REAL_TOPIC"]) == ("1", first["topic"])
    assert (properties["REAL_QID"], properties["WAIT"]) == (str(first["queue"]), "true")


@pytest.mark.shows("RT-02")
def test_a_listener_chooses_the_delay_or_gives_up_at_once(java: Java) -> None:
    line = saw(java, "retry_level_chosen")
    first, second = by_key(line["attempts"], "key-0")
    assert second["properties"]["DELAY"] == "2"
    assert (second["at"] - first["at"]) / LEVEL_2_MS > 0.95
    assert len(by_key(line["attempts"], "key-1")) == 1
    (dead,) = line["dead"]
    assert (dead["keys"], dead["reconsumed"]) == ("key-1", 1)
    assert dead["properties"].keys() == GIVEN | READ | HANDED_BACK
    assert dead["properties"]["ORIGIN_MESSAGE_ID"] == origin(line, "key-1")["offsetId"]


@pytest.mark.shows("OR-05", "OR-06", "SP-29")
def test_in_order_a_failure_is_tried_on_the_spot_and_dead_at_last(java: Java) -> None:
    line = saw(java, "retry_orderly")
    course = [(attempt["keys"], attempt["reconsumed"]) for attempt in line["attempts"]]
    waits = [("key-2", 0), ("key-2", 1), ("key-2", 2)]
    assert course == [("key-0", 0), ("key-1", 0), *waits, ("key-3", 0), ("key-4", 0)]
    (dead,) = line["dead"]
    sent = origin(line, "key-2")
    assert (dead["keys"], dead["body"], dead["id"]) == ("key-2", sent["body"], sent["id"])
    # The two generations count a last attempt differently.
    assert dead["reconsumed"] == int(dead["properties"]["RECONSUME_TIME"])
    of_client = {"RECONSUME_TIME", "MAX_RECONSUME_TIMES"}
    assert dead["properties"].keys() == GIVEN | READ | HANDED_BACK | of_client
    assert (dead["properties"]["DELAY"], dead["properties"]["WAIT"]) == ("-1", "true")
    assert dead["properties"]["ORIGIN_MESSAGE_ID"] == sent["id"], "the client gave it this one"


@pytest.mark.shows("BC-03")
def test_a_broadcast_failure_does_not_come_again(java: Java) -> None:
    line = saw(java, "retry_broadcast")
    assert sorted(attempt["keys"] for attempt in line["attempts"]) == ["key-0", "key-1", "key-2"]


def firsts(numbers: Iterable[int]) -> list[int]:
    """Return each number where it came first: a queue that moves may repeat what was not committed."""
    return list(dict.fromkeys(numbers))


@pytest.mark.shows("OR-01", "OR-03", "OR-04", "U-27")
def test_each_queue_keeps_its_order_while_members_come_and_go(java: Java) -> None:
    line = saw(java, "order_rebalance")
    assert "sendFailed" not in line
    assert sorted(line["members"]) == ["one", "two"]
    assert not line["overlaps"], "two members worked on one queue at once"
    assert len(line["queues"]) == 4
    for queue, numbers in line["queues"].items():
        own = range(int(queue.split("/")[1]), line["sent"], 4)
        assert firsts(numbers) == list(own), queue
        assert len(numbers) <= len(own) * len(line["members"]), "it moves once, and may be repeated once"


@pytest.mark.shows("PC-12", "U-27")
def test_a_topic_of_one_queue_has_one_order(java: Java) -> None:
    line = saw(java, "order_global")
    assert not line["overlaps"]
    (numbers,) = line["queues"].values()
    assert numbers == list(range(line["sent"]))


@pytest.mark.shows("OR-07")
def test_a_topic_s_order_configuration_names_the_queues_to_send_to(java: Java) -> None:
    line = saw(java, "order_conf")
    assert line["order"] == f"{line['broker']}:2"
    assert line["publishQueues"] == [f"{line['broker']}/0", f"{line['broker']}/1"]
