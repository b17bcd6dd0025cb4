"""Requests and replies, traces, light queues, and what operators ask, by the official Java client."""

from typing import Any

import pytest

from tests.interop.clients.java_client import Saw, saw
from tests.interop.clients.scenario_checks import assert_same, contents

Java = dict[str, Saw]
REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"


@pytest.mark.parametrize(("way", "word"), [("answer", "one"), ("asyncAnswer", "two")])
def test_a_request_gets_the_reply_that_is_meant_for_it(java: Java, way: str, word: str) -> None:
    line = saw(java, "request_reply")
    answer = line[way]
    assert (answer["body"], answer["topic"]) == (f"re: {word}", REPLY_TOPIC)
    properties = answer["properties"]
    requests = {each["properties"]["CORRELATION_ID"]: each for each in line["requests"]}
    request = requests[properties["CORRELATION_ID"]]
    assert request["keys"] == word
    assert properties["REPLY_TO_CLIENT"] == request["properties"]["REPLY_TO_CLIENT"] == line["askerId"]
    marks = {"MSG_TYPE", "TTL", "UNIQ_KEY", "MSG_REGION", "TRACE_ON", "PUSH_REPLY_TIME", "ARRIVE_TIME"}
    # Only the newer client marks a reply as waiting for the disk.
    assert properties.keys() - {"WAIT"} == marks | {"CORRELATION_ID", "REPLY_TO_CLIENT"}
    assert properties["MSG_TYPE"] == "reply"


def test_a_request_without_a_reply_ends_by_its_time(java: Java) -> None:
    line = saw(java, "request_reply")
    assert (line["unanswered"], line["nobody"]) == ("timed out", "timed out")


def test_replies_are_kept_even_when_nobody_waits_for_them(java: Java) -> None:
    line = saw(java, "request_reply")
    assert [result["status"] for result in line["results"]] == ["SEND_OK", "SEND_OK"]
    assert line["refusals"], "the one who replies is told that nobody is there"
    clients = [message["properties"]["REPLY_TO_CLIENT"] for message in line["stored"]]
    assert set(clients) == {line["askerId"], line["nobodyId"]}
    for message in line["stored"]:
        assert (message["topic"], message["queue"]) == (REPLY_TOPIC, 0)
        assert "PUSH_REPLY_TIME" not in message["properties"]
        assert message["properties"]["MSG_REGION"] == "DefaultRegion"
    ids = {message["id"] for message in line["stored"]}
    assert {result["id"] for result in line["results"]} <= ids


@pytest.mark.parametrize("which", ["system", "own"])
def test_a_traced_message_is_told_of_by_its_producer_and_its_consumer(java: Java, which: str) -> None:
    line = saw(java, "trace")[which]
    records = {record[0]: record for record in line["records"]}
    assert records.keys() == {"Pub", "SubBefore", "SubAfter"}
    pub = records["Pub"]
    assert pub[2:8] == ["DefaultRegion", line["group"], line["topic"], line["id"], which, f"traced-{which}"]
    assert (pub[9], pub[11], pub[12], pub[13]) == ("8", "0", line["offsetId"], "true")
    before, after = records["SubBefore"], records["SubAfter"]
    assert (before[3], before[5], before[6]) == (line["group"], line["id"], "0")
    assert (after[1], after[2], after[4]) == (before[4], line["id"], "true")
    assert line["byId"] >= 2, "a trace is found by the id of its message"


def _light(line: Saw) -> dict[str, Any]:
    return {
        **{key: line[key] for key in ("status", "next", "max", "end")},
        "keys": [message["keys"] for message in line["found"]],
    }


def test_light_queues_hold_what_was_dispatched_to_them(java: Java) -> None:
    line = saw(java, "light_queues")
    assert_same(line["inParent"], line["sent"])
    everything = [f"key-{number}" for number in range(9)]
    thirds = everything[::3]
    assert _light(line["first"]) == {"status": "FOUND", "next": 9, "max": 9, "end": 9, "keys": everything}
    assert _light(line["second"]) == {"status": "FOUND", "next": 3, "max": 3, "end": 3, "keys": thirds}
    for place, message in enumerate(line["second"]["found"]):
        properties = message["properties"]
        assert properties["INNER_MULTI_QUEUE_OFFSET"] == f"{3 * place},{place}"
        assert properties["WAIT"] == "true"
        assert message["topic"] == line["inParent"][0]["topic"]


def test_a_stored_message_is_consumed_on_demand(java: Java) -> None:
    line = saw(java, "consume_directly")
    assert line["results"] == ["CR_SUCCESS", "CR_LATER"]
    assert [message["keys"] for message in line["received"]] == ["key-0"] * 3
    assert len({message["body"] for message in line["received"]}) == 1
    assert "not online" in line["nobody"]


def test_a_consumer_at_work_shows_its_state_and_its_threads(java: Java) -> None:
    line = saw(java, "running_info")
    for stack in ("withStack", "withoutStack"):
        info = line[stack]
        assert (info["type"], info["queues"]) == ("CONSUME_PASSIVELY", 2)
        assert len(info["subscriptions"]) == 2, "its topic and its retry topic"
    assert "ConsumeMessageThread" in line["withStack"]["stack"]
    assert line["withoutStack"]["stack"] == ""
    assert "not online" in line["nobody"]
    assert [group.split("_")[1] for group in line["consumedBy"]] == ["running"]


def test_a_consumer_at_work_is_sent_past_what_piled_up(java: Java) -> None:
    line = saw(java, "offsets_skip_and_clone")
    assert set(line["told"].values()) == {15}
    received = contents(line["received"])
    for sent in (line["before"], line["after"]):
        assert contents(sent) <= received
    assert line["diffAtEnd"] == 0


def test_a_group_gets_the_offsets_of_another(java: Java) -> None:
    line = saw(java, "offsets_skip_and_clone")
    assert line["cloned"] == line["offsets"]
    assert set(line["cloned"].values()) == {20}


@pytest.mark.shows("QY-02", "QY-03", "U-28")
def test_a_key_is_looked_up_within_a_time_and_a_number(java: Java) -> None:
    line = saw(java, "query_ranges")
    assert line["all"] == list(range(6, 70)), "64 at most, the newest of them, in the order of the log"
    assert line["five"] == list(range(65, 70))
    assert line["firstHalf"] == list(range(40))
    assert line["secondHalf"] == list(range(40, 70))
    assert line["before"] == line["otherTopic"] == []
