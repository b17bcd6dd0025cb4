"""Filters by properties with the official Java client: exactly what matches comes, on either server."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_same

Java = dict[str, Saw]
Sent = dict[str, Any]
SUBSCRIPTION_PARSE_FAILED = 23

WANTED: dict[str, Callable[[Sent], bool]] = {
    "between": lambda sent: 10 <= sent["n"] <= 29,
    "mixed": lambda sent: (
        (sent["n"] >= 70 and (sent["tags"] == "A" or sent["color"].endswith("5")))
        or sent["color"] in ("red-1", "red-2")
    ),
    "texts": lambda sent: sent["n"] % 2 == 0 and "1" not in sent["color"],
    "none": lambda sent: False,
    "unreadable": lambda sent: False,
}
"""What the groups of `FilterScenarios` want, in Python's words."""


def saw(java: Java, scenario: str) -> Saw:
    """Return what a scenario saw, once it is known to have come to its end."""
    line = java[scenario]
    assert "error" not in line, line["error"]
    return line


@pytest.mark.shows("FI-04", "X-11")
@pytest.mark.parametrize("scenario", ["sql_push", "sql_push_posted"])
@pytest.mark.parametrize("group", WANTED)
def test_a_push_consumer_gets_what_its_expression_lets_through(java: Java, scenario: str, group: str) -> None:
    line = saw(java, scenario)
    assert_same(line["members"][group], filter(WANTED[group], line["sent"]))


def test_a_group_that_nothing_matches_moves_on(java: Java) -> None:
    assert saw(java, "sql_push")["noneDiff"] == 0


@pytest.mark.shows("FI-04")
def test_a_pull_with_an_expression_finds_what_matches_and_says_where_to_go_on(java: Java) -> None:
    line = saw(java, "sql_pull")
    some, within, nothing = line["some"], line["fromWithin"], line["nothing"]
    assert (some["status"], [each["offset"] for each in some["found"]]) == ("FOUND", list(range(10, 20)))
    assert (within["status"], [each["offset"] for each in within["found"]]) == ("FOUND", [31, 33, 35, 37, 39])
    assert (nothing["status"], nothing["next"], nothing["found"]) == ("NO_MATCHED_MSG", 40, [])
    assert some["next"] == within["next"] == 40


def test_a_lite_pull_consumer_gets_what_its_expression_lets_through(java: Java) -> None:
    line = saw(java, "sql_lite")
    assert_same(line["received"], [sent for sent in line["sent"] if not 10 <= sent["n"] <= 49])


def test_a_matching_message_that_was_handed_back_comes_again(java: Java) -> None:
    line = saw(java, "sql_retry")
    assert_same(line["received"], [sent for sent in line["sent"] if sent["n"] >= 8])
    assert {each["color"]: each["reconsumed"] for each in line["received"]} == {"red-8": 1, "red-9": 0}


def test_a_wrong_expression_stops_the_consumer_at_its_start(java: Java, cluster: Cluster) -> None:
    refused = saw(java, "sql_wrong")["refused"]
    assert {answer["code"] for answer in refused.values()} == {SUBSCRIPTION_PARSE_FAILED}
    if cluster.make == "tailfin":
        assert all("at position" in answer["remark"] for answer in refused.values())
