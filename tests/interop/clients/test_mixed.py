"""Clusters of both makes: brokers of either, under a nameserver of either, are one to their clients."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.clients import clusters, java_client
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import (
    assert_in_order,
    assert_nothing_lost,
    assert_same,
    offsets_by_queue,
)
from tests.interop.clients.servers import Make

SCENARIOS = (
    *("send_sync", "send_batch", "push_concurrent", "push_orderly_suspended", "push_broadcast", "push_tags"),
    *("rebalance", "offsets_restart", "lite_subscribe", "admin_topic", "admin_query", "admin_cluster"),
)
MIXED: dict[str, tuple[Make, ...]] = {
    "both-at-java": ("official", "tailfin", "official"),
    "both-at-tailfin": ("tailfin", "tailfin", "official"),
}


Run = tuple[Cluster, dict[str, Saw]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """What each scenario saw of each cluster: both are used at once, since clients mostly wait."""

    def run(name: str) -> Run:
        home = tmp_path_factory.mktemp(name)
        with clusters.running(name, home, *MIXED[name]) as cluster:
            return cluster, java_client.run("5.5.0", cluster, home, *SCENARIOS)

    with ThreadPoolExecutor() as pool:
        return dict(zip(MIXED, pool.map(run, MIXED), strict=True))


@pytest.fixture(params=list(MIXED))
def mixed(request: pytest.FixtureRequest, runs: dict[str, Run]) -> Cluster:
    """The nameserver's make first, then the brokers'."""
    return runs[request.param][0]


@pytest.fixture
def saw(mixed: Cluster, runs: dict[str, Run]) -> dict[str, Saw]:
    lines = runs[mixed.make][1]
    for line in lines.values():
        assert "error" not in line, line["error"]
    return lines


def test_one_cluster_is_seen(saw: dict[str, Saw], mixed: Cluster) -> None:
    assert saw["admin_cluster"]["clusters"] == {"DefaultCluster": sorted(mixed.brokers)}
    assert saw["admin_cluster"]["runtime"].keys() == mixed.brokers.keys()
    route = saw["admin_topic"]
    assert {tuple(queue) for queue in route["routeQueues"]} == {(name, 3, 3, 6) for name in mixed.brokers}
    assert {(name, address) for _, name, address in route["routeBrokers"]} == set(mixed.brokers.items())
    assert route["routedAfterDelete"] == 0


def test_sends_go_to_every_broker_and_are_read_back(saw: dict[str, Saw], mixed: Cluster) -> None:
    line = saw["send_sync"]
    assert_same(line["received"], line["sent"])
    assert_in_order(line["received"])
    assert {result["broker"] for result in line["results"]} == mixed.brokers.keys()
    assert_same(saw["send_batch"]["received"], saw["send_batch"]["sent"])


@pytest.mark.parametrize("scenario", ["push_concurrent", "push_orderly_suspended"])
def test_a_consumer_reads_all_brokers(saw: dict[str, Saw], mixed: Cluster, scenario: str) -> None:
    line = saw[scenario]
    assert_same(line["received"], line["sent"])
    assert {broker for broker, _ in offsets_by_queue(line["received"])} == mixed.brokers.keys()


def test_broadcast_and_tags_hold_over_all_brokers(saw: dict[str, Saw]) -> None:
    for member in saw["push_broadcast"]["members"].values():
        assert_same(member, saw["push_broadcast"]["sent"])
    tagged = saw["push_tags"]
    assert_same(tagged["members"]["several"], [m for m in tagged["sent"] if m["tags"] in "AC"])
    assert tagged["noneDiff"] == 0


def test_members_share_the_queues_of_all_brokers(saw: dict[str, Saw], mixed: Cluster) -> None:
    line = saw["rebalance"]
    for stage in line["stages"]:
        owned = [queue for queues in stage["assigned"].values() for queue in queues]
        assert len(owned) == len(set(owned)) == 8 * len(mixed.brokers), stage["change"]
    assert_nothing_lost(line["received"], line["sent"], times_max=len(line["stages"]))
    assert line["diffAtEnd"] == 0


def test_a_group_goes_on_where_it_stopped_on_each_broker(saw: dict[str, Saw]) -> None:
    assert_same(saw["offsets_restart"]["after"], saw["offsets_restart"]["sentAfter"])
    lite = saw["lite_subscribe"]
    assert_same(lite["receivedAfter"], [m for m in lite["sentAfter"] if m["tags"] in "AB"])


def test_a_message_is_found_wherever_it_lies(saw: dict[str, Saw]) -> None:
    line = saw["admin_query"]
    for found in (*line["byFirstKey"], *line["bySecondKey"], line["byOffsetId"], line["byUniqueId"]):
        assert_same([found], [line["sent"]])
