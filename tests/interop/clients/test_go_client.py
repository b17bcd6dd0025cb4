"""The official Go client: what it sends is there, what it consumes is whole and in order."""

import pytest

from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_same, contents

Go = dict[str, Saw]
SEND_OK = 0


def saw(go: Go, scenario: str) -> Saw:
    """Return what a scenario saw, once it is known to have come to its end."""
    line = go[scenario]
    assert "error" not in line, line["error"]
    return line


@pytest.mark.parametrize("scenario", ["produce", "produce_async", "produce_oneway", "produce_batch"])
def test_what_is_sent_is_stored(go: Go, scenario: str) -> None:
    line = saw(go, scenario)
    assert_same(line["received"], line["sent"])


@pytest.mark.parametrize("scenario", ["produce", "produce_async", "produce_batch"])
def test_a_send_is_stored_where_its_answer_says(go: Go, scenario: str) -> None:
    line = saw(go, scenario)
    places = {(m["broker"], m["queue"], m["offset"]): m["id"] for m in line["received"]}
    assert not line.get("failures")
    for result in line["results"]:
        assert result["status"] == SEND_OK
        stored = places[result["broker"], result["queue"], result["offset"]]
        # This client has no id to show for a batch.
        assert result["id"] in (stored, "")


def test_a_push_consumer_gets_every_message_once(go: Go) -> None:
    line = saw(go, "push")
    assert_same(line["received"], line["sent"])


def test_tags_choose_messages(go: Go) -> None:
    line = saw(go, "push_tags")
    assert_same(line["received"], [message for message in line["sent"] if message["tags"] in "AC"])


def test_an_orderly_consumer_gets_each_queue_in_order(go: Go) -> None:
    line = saw(go, "orderly")
    assert_same(line["received"], line["sent"])
    assert_in_order(line["received"])


def test_each_broadcast_member_gets_every_message(go: Go) -> None:
    line = saw(go, "broadcast")
    assert len(line["members"]) == 2
    for member in line["members"].values():
        assert_same(member, line["sent"])


def test_a_restarted_consumer_goes_on_where_its_group_stopped(go: Go) -> None:
    line = saw(go, "restart")
    assert_same(line["before"], line["sentBefore"])
    # It stops without waiting for what its listener has just done: that much may come again.
    again = contents(line["after"]) - contents(line["sentAfter"])
    assert again <= contents(line["sentBefore"])
    assert again.total() < len(line["sentBefore"])
    assert contents(line["sentAfter"]) <= contents(line["after"])
