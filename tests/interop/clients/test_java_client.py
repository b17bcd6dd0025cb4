"""The official Java client of both generations: what it sends is there, what it asks is answered."""

from typing import Any

import pytest

from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw, saw
from tests.interop.clients.scenario_checks import (
    Message,
    assert_in_order,
    assert_nothing_lost,
    assert_same,
    contents,
    offsets_by_queue,
)

Java = dict[str, Saw]
MESSAGE_ILLEGAL, NO_PERMISSION, TOPIC_NOT_EXIST, INVALID_PARAMETER = 13, 16, 17, 29


def assert_acknowledged(line: Saw) -> None:
    """Hold that every send was stored where its acknowledgement says."""
    assert {result["status"] for result in line["results"]} == {"SEND_OK"}
    places = {(m["broker"], m["queue"], m["offset"]): m["id"] for m in line["received"]}
    for result in line["results"]:
        first_id = result["id"].split(",")[0]
        assert places[result["broker"], result["queue"], result["offset"]] == first_id


@pytest.mark.shows("U-05", "U-13")
@pytest.mark.parametrize("scenario", ["send_sync", "send_async", "send_selector"])
def test_what_is_sent_one_by_one_is_stored_where_the_answer_says(java: Java, scenario: str) -> None:
    line = saw(java, scenario)
    assert_same(line["received"], line["sent"])
    assert_acknowledged(line)
    assert len({result["offsetId"] for result in line["results"]}) == len(line["sent"])
    assert not line.get("failures")
    assert_in_order(line["received"])


def test_a_selector_chooses_the_queue(java: Java) -> None:
    line = saw(java, "send_selector")
    assert [f"{result['broker']}/{result['queue']}" for result in line["results"]] == line["chosen"]
    assert len(set(line["chosen"])) > 1


def test_oneway_messages_are_all_stored(java: Java) -> None:
    line = saw(java, "send_oneway")
    assert_same(line["received"], line["sent"])


def test_a_batch_becomes_messages_of_their_own(java: Java) -> None:
    line = saw(java, "send_batch")
    assert_same(line["received"], line["sent"])
    assert_acknowledged(line)
    (result,) = line["results"]
    assert result["id"].split(",") == [message["id"] for message in line["received"]]
    assert len(set(result["offsetId"].split(","))) == len(line["sent"])
    assert {(m["broker"], m["queue"]) for m in line["received"]} == {(result["broker"], result["queue"])}


def test_a_compressed_body_is_stored_compressed_and_read_whole(java: Java) -> None:
    line = saw(java, "send_compressed")
    assert_same(line["received"], line["sent"])
    assert max(line["storeSizes"]) < min(message["bodyLength"] for message in line["sent"]) / 10


def test_messages_of_megabytes_pass_and_larger_than_the_limit_are_refused(java: Java) -> None:
    line = saw(java, "send_large")
    assert_same(line["received"], line["sent"])
    assert_acknowledged(line)
    assert line["tooLarge"]["code"] == MESSAGE_ILLEGAL
    assert "4194304" in line["tooLarge"]["remark"]


@pytest.mark.shows("TP-03", "TP-05")
def test_a_topic_is_born_by_the_first_message(java: Java) -> None:
    line = saw(java, "send_auto_create")
    assert_same(line["received"], line["sent"])
    assert_acknowledged(line)
    assert line["queues"] == [[4, 4, 6]]


def test_impossible_sends_are_refused_with_a_code_and_a_sentence(java: Java) -> None:
    line = saw(java, "send_refused")
    assert line["noSuchQueue"]["code"] == INVALID_PARAMETER
    assert "queueId[7]" in line["noSuchQueue"]["remark"]
    assert line["heavyProperties"]["code"] == MESSAGE_ILLEGAL
    assert "exception" in line["longTopic"], "the client itself refuses it"


def test_reading_keeps_properties_and_adds_the_queue_s_bounds(java: Java) -> None:
    line = saw(java, "send_sync")
    for message in line["received"]:
        properties = message["properties"]
        assert properties["UNIQ_KEY"] == message["id"]
        assert properties["color"] == message["color"]
        assert properties["MIN_OFFSET"] == "0"
        assert int(properties["MAX_OFFSET"]) > message["offset"]
        assert message["flag"] == int(message["keys"].removeprefix("key-"))


@pytest.mark.shows("U-06", "U-11", "U-12", "PL-21")
def test_a_concurrent_consumer_gets_every_message_once(java: Java) -> None:
    line = saw(java, "push_concurrent")
    assert_same(line["received"], line["sent"])


def _is_later(message: Message) -> bool:
    """Whether it was sent when the members had shared the queues."""
    return int(message["keys"].removeprefix("key-")) >= 100


@pytest.mark.shows("OR-03", "OR-04")
def test_orderly_consumers_get_each_queue_in_order_and_share_the_queues(java: Java) -> None:
    line = saw(java, "push_orderly")
    everything = [message for member in line["members"].values() for message in member]
    # A queue that moves from one member to the other may repeat what was not yet committed.
    assert_nothing_lost(everything, line["sent"], times_max=len(line["members"]))
    assert not line["overlaps"], "two members worked on one queue at once"
    for member in line["members"].values():
        for offsets in offsets_by_queue(member).values():
            assert offsets == sorted(set(offsets)), "a member sees nothing twice"
    later = [message for message in everything if _is_later(message)]
    assert_same(later, filter(_is_later, line["sent"]))
    owners = [
        {(m["broker"], m["queue"]) for m in member if m in later} for member in line["members"].values()
    ]
    assert all(owners), "each member has queues"
    assert not set.intersection(*owners)


@pytest.mark.shows("OR-05")
def test_an_orderly_consumer_that_suspends_is_not_overtaken(java: Java) -> None:
    line = saw(java, "push_orderly_suspended")
    assert line["refused"]
    assert_same(line["received"], line["sent"])
    assert_in_order(line["received"])


@pytest.mark.shows("BC-01", "U-19")
def test_each_broadcast_member_gets_every_message(java: Java) -> None:
    line = saw(java, "push_broadcast")
    assert len(line["members"]) == 2
    for member in line["members"].values():
        assert_same(member, line["sent"])


def test_tags_choose_messages_and_a_group_that_matches_none_moves_on(java: Java) -> None:
    line = saw(java, "push_tags")
    members = line["members"]
    for group, tags in {"one": "A", "several": "AC", "none": "", "all": "ABC"}.items():
        assert_same(members[group], [message for message in line["sent"] if message["tags"] in list(tags)])
    assert line["noneDiff"] == 0


@pytest.mark.shows("RB-08", "U-18")
def test_joining_and_leaving_members_share_every_queue_and_lose_nothing(java: Java) -> None:
    line = saw(java, "rebalance")
    assert not line["failures"]
    assert len(line["stages"]) == 7
    for stage in line["stages"]:
        owned = [queue for queues in stage["assigned"].values() for queue in queues]
        assert len(owned) == len(set(owned)) == stage["queues"], stage["change"]
        sizes = [len(queues) for queues in stage["assigned"].values()]
        assert max(sizes) - min(sizes) <= 1, stage["change"]
    # A message comes again when its queue moves before it is committed.
    assert_nothing_lost(line["received"], line["sent"], times_max=len(line["stages"]))
    assert line["diffAtEnd"] == 0


@pytest.mark.shows("OF-01")
def test_a_restarted_consumer_goes_on_where_its_group_stopped(java: Java) -> None:
    line = saw(java, "offsets_restart")
    assert_same(line["before"], line["sentBefore"])
    assert_same(line["after"], line["sentAfter"])
    assert (line["diffAfterStop"], line["diffBeforeStart"], line["diffAtEnd"]) == (0, 50, 0)


def test_a_new_group_reads_from_the_first_message_while_the_topic_still_has_it(java: Java) -> None:
    """Whatever it asks for: the server answers 0 to a group without an offset as long as nothing expired."""
    line = saw(java, "offsets_from_where")
    for where in ("first_offset", "last_offset", "timestamp"):
        assert_same(line["members"][where], [*line["old"], *line["between"], *line["new"]])
        assert line[f"left_{where}"] == 0


def test_a_reset_reaches_a_consumer_at_work(java: Java) -> None:
    line = saw(java, "offsets_reset_while_consuming")
    assert set(line["told"].values()) == {0}
    assert contents(line["received"]) == contents([*line["sent"], *line["sent"]])
    assert line["diffAtEnd"] == 0


def test_a_stopped_group_is_reset_to_a_moment(java: Java) -> None:
    line = saw(java, "offsets_reset_of_a_stopped_group")
    assert all(rollback < end for _, end, rollback in line["old"])
    assert sum(end - rollback for _, end, rollback in line["old"]) == 20 == line["diffAfterReset"]
    assert_same(line["received"], line["later"])
    assert line["diffAtEnd"] == 0


def _pulled(result: dict[str, Any]) -> tuple[str, int, int, int, list[int]]:
    offsets = [message["offset"] for message in result["found"]]
    return result["status"], result["next"], result["min"], result["max"], offsets


@pytest.mark.shows("PL-09", "PL-15")
def test_pulls_are_answered_by_status_next_offset_and_bounds(java: Java) -> None:
    line = saw(java, "pull")
    assert _pulled(line["ofEmpty"]) == ("NO_NEW_MSG", 0, 0, 0, [])
    assert _pulled(line["first"]) == ("FOUND", 32, 0, 50, list(range(32)))
    assert _pulled(line["second"]) == ("FOUND", 50, 0, 50, list(range(32, 50)))
    assert _pulled(line["five"]) == ("FOUND", 15, 0, 50, list(range(10, 15)))
    assert _pulled(line["tagged"]) == ("FOUND", 50, 0, 50, list(range(1, 50, 3)))
    assert _pulled(line["unmatched"]) == ("NO_MATCHED_MSG", 50, 0, 50, [])
    assert _pulled(line["atEnd"]) == ("NO_NEW_MSG", 50, 0, 50, [])
    assert _pulled(line["beyondEnd"]) == ("OFFSET_ILLEGAL", 50, 0, 50, [])
    assert_same([*line["first"]["found"], *line["second"]["found"]], line["sent"])


def test_impossible_pulls_are_refused_with_a_code(java: Java) -> None:
    line = saw(java, "pull")
    assert line["noPermission"]["code"] == NO_PERMISSION
    assert line["noSuchTopic"]["code"] == TOPIC_NOT_EXIST


def test_a_pull_consumer_stores_its_offset_at_the_broker(java: Java) -> None:
    line = saw(java, "pull")
    assert (line["storedBefore"], line["storedAfter"]) == (0, 33)


@pytest.mark.shows("PL-21")
def test_a_waiting_pull_is_answered_by_the_message_that_arrives(java: Java) -> None:
    line = saw(java, "pull_long_poll")
    assert line["stillWaiting"]
    assert not line["failures"]
    assert _pulled(line["result"]) == ("FOUND", 1, 0, 1, [0])


def test_a_lite_pull_consumer_reads_its_tags_commits_and_goes_on(java: Java) -> None:
    line = saw(java, "lite_subscribe")
    assert_same(line["received"], [message for message in line["sent"] if message["tags"] in "AB"])
    assert_same(line["receivedAfter"], [message for message in line["sentAfter"] if message["tags"] in "AB"])


def test_a_lite_pull_consumer_seeks_in_the_queues_it_chose(java: Java) -> None:
    line = saw(java, "lite_assign")
    for received in (line["received"], line["receivedAgain"]):
        assert_same(received, line["sent"])
        assert_in_order(received)
    ((_, offsets),) = offsets_by_queue(line["afterSeek"]).items()
    assert offsets == list(range(5, offsets[-1] + 1))
    assert line["offsets"] == {"byTimestampZero": 0, "committed": offsets[-1] + 1}


@pytest.mark.shows("NS-31", "U-14")
def test_a_topic_is_made_shown_and_deleted(java: Java, cluster: Cluster) -> None:
    line = saw(java, "admin_topic")
    names = set(cluster.brokers)
    assert {tuple(queue) for queue in line["routeQueues"]} == {(name, 3, 3, 6) for name in names}
    assert {tuple(broker) for broker in line["routeBrokers"]} == {
        ("DefaultCluster", name, address) for name, address in cluster.brokers.items()
    }
    assert [config[1:] for config in line["configs"]] == [[3, 3, 6]] * len(names)
    assert set(line["stats"]) == {f"{name}/{queue}" for name in names for queue in range(3)}
    for first, end, updated in line["stats"].values():
        assert (first, end) == (0, 1)
        assert updated > 0
    assert line["listed"]
    assert line["routedAfterDelete"] == 0
    assert not line["listedAfterDelete"]


@pytest.mark.shows("QY-01", "QY-02", "QY-03", "QY-05", "U-14")
def test_a_message_is_found_by_each_of_its_keys_and_ids(java: Java) -> None:
    line = saw(java, "admin_query")
    for question in ("byFirstKey", "bySecondKey"):
        assert_same(line[question], [line["sent"]])
    for question in ("byOffsetId", "byUniqueId"):
        assert_same([line[question]], [line["sent"]])
        assert line[question]["offset"] == line["result"]["offset"]
        assert line[question]["queue"] == line["result"]["queue"]
    assert [message["keys"] for message in line["byKeyOfAnother"]] == ["key-7"]
    assert line["byUnknownKey"] == 0
    assert "no message" in line["byWrongOffsetId"]


@pytest.mark.shows("OF-06", "U-14")
def test_offsets_are_found_by_time(java: Java) -> None:
    line = saw(java, "admin_offsets")
    assert (line["maxOfEmpty"], line["min"], line["max"]) == (0, 0, 10)
    assert line["earliest"] == line["stored"][0]
    assert line["found"] == list(range(10))
    assert line["justAfterFourth"] == 4
    assert (line["longBefore"], line["longAfter"]) == (0, 10)


def test_a_group_s_progress_members_and_subscriptions_are_shown(java: Java) -> None:
    line = saw(java, "admin_progress")
    assert line["consuming"]["diff"] == 0
    assert all(end == consumed for end, consumed in line["consuming"]["queues"].values())
    assert line["behind"]["diff"] == 6
    assert [(m["id"], m["language"]) for m in line["members"]] == [(line["clientId"], "JAVA")]
    (topic, retry) = sorted(line["subscriptions"], key=lambda name: name.startswith("%RETRY%"))
    assert line["subscriptions"][topic] == ["A || B || C", ["A", "B", "C"]]
    assert line["subscriptions"][retry][0] == "*"
    assert line["model"] == ["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_FIRST_OFFSET"]
    assert line["consumedBy"] == [topic], "the group has its topic's name"
    assert line["producers"] == [line["producerId"]]


def test_the_cluster_and_its_counters_are_shown(java: Java, cluster: Cluster) -> None:
    line = saw(java, "admin_cluster")
    assert line["clusters"] == {"DefaultCluster": sorted(cluster.brokers)}
    for runtime in line["runtime"].values():
        assert int(runtime["msgPutTotalTodayNow"]) > 0
        assert int(runtime["commitLogMaxOffset"]) > 0
        assert runtime["brokerVersionDesc"]
        assert {"putTps", "getTransferredTps", "sendThreadPoolQueueSize", "bootTimestamp"} <= runtime.keys()
