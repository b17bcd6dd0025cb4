"""The official Java client's delayed, timed and recalled messages."""

from typing import Any

import pytest

from tests.interop.clients.java_client import Saw, saw
from tests.interop.clients.scenario_checks import assert_same

Java = dict[str, Saw]
LEVELS_MS = {1: 1000, 2: 2000}
LATE_RATIO = 3
"""How many times the asked delay a busy machine may take."""
STEP_MS = 1000
OURS = {
    "MIN_OFFSET",
    "MAX_OFFSET",
    "TRACE_ON",
    "MSG_REGION",
    "CLUSTER",
    "UNIQ_KEY",
    "WAIT",
    "color",
    "TAGS",
    "KEYS",
}
"""Properties that every message has."""


def arrivals(line: Saw) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return what was sent and what came of it, by the message's body."""
    sent = {message["body"]: message for message in line["sent"]}
    return {message["body"]: (sent[message["body"]], message) for message in line["received"]}


def waited_ms(message: dict[str, Any]) -> int:
    return int(message["stored"]) - int(message["born"])


@pytest.mark.shows("DL-01", "DL-02", "DL-03", "U-26")
def test_delayed_messages_arrive_in_their_queue_after_the_time_of_their_level(java: Java) -> None:
    line = saw(java, "delay_levels")
    assert_same(line["received"], line["sent"])
    for sent, message in arrivals(line).values():
        level = sent["level"]
        stored_level = min(level, 18)
        asked = LEVELS_MS.get(stored_level, 1000)
        assert asked <= waited_ms(message) <= asked * LATE_RATIO + STEP_MS
        assert (sent["status"], sent["handle"]) == ("SEND_OK", False)
        assert (message["id"], message["queue"], message["flag"]) == (
            sent["id"],
            sent["queue"],
            message["flag"],
        )
        added = {name: value for name, value in message["properties"].items() if name not in OURS}
        expected = {
            "DELAY": str(stored_level),
            "REAL_TOPIC": message["topic"],
            "REAL_QID": str(sent["queue"]),
        }
        assert added == expected
        assert message["reconsumed"] == 0


def test_timed_messages_arrive_in_their_queue_at_their_moment_and_never_early(java: Java) -> None:
    line = saw(java, "delay_timers")
    assert_same(line["received"], line["sent"])
    for sent, message in arrivals(line).values():
        scale = {"TIMER_DELAY_SEC": 1000, "TIMER_DELAY_MS": 1}.get(sent["ask"])
        asked = sent["asked"] * scale if scale else sent["asked"] - message["born"]
        assert (message["id"], message["queue"]) == (sent["id"], sent["queue"])
        added = {name for name in message["properties"] if name not in OURS}
        if asked <= 0:
            assert added == {sent["ask"]}
            assert not sent["handle"]
            continue
        assert asked <= waited_ms(message) <= asked * LATE_RATIO + STEP_MS
        assert added == {
            sent["ask"],
            "TIMER_OUT_MS",
            "TIMER_ENQUEUE_MS",
            "TIMER_DEQUEUE_MS",
            "REAL_TOPIC",
            "REAL_QID",
        }
        out = int(message["properties"]["TIMER_OUT_MS"])
        assert out % STEP_MS == 0
        assert out < message["born"] + asked + STEP_MS


def test_times_that_cannot_be_are_refused(java: Java) -> None:
    assert saw(java, "delay_refused")["codes"] == {"tooFar": 13, "noNumber": 13}


def test_a_recalled_message_never_arrives_and_its_neighbours_do(java: Java) -> None:
    line = saw(java, "delay_recall")
    if line["handles"] == [None] * 4:
        assert "received" not in line, "a client of version 4 knows no recalls"
        return
    assert len(set(line["handles"])) == 4
    assert_same(line["received"], [message for number, message in enumerate(line["sent"]) if number != 1])
    assert line["recalled"]
    assert line["elsewhere"] == 604
    assert line["nonsense"] == "MQClientException"
