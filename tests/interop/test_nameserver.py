"""Tailfin's name server with the official broker and the official mqadmin.

The same checks run with the official name server too, so that a wrong belief fails there first.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from tailfin.wire.bodies.common import TopicList
from tailfin.wire.bodies.routes import ClusterInfo, TopicRouteData
from tailfin.wire.codes import Code
from tests.crash.waiting import wait_until
from tests.interop.clients import mqadmin, remoting, servers
from tests.interop.clients.mqadmin import MqAdmin

BROKER = "broker-a"


@dataclass(frozen=True)
class Scene:
    namesrv: str
    broker: servers.Server
    admin: MqAdmin

    def run(self, *words: str) -> str:
        return self.admin.run(*words, "-n", self.namesrv)

    def topics(self) -> list[str]:
        body = remoting.ask(self.namesrv, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body
        return TopicList.from_json(body).topic_list

    def brokers(self) -> list[str]:
        body = remoting.ask(self.namesrv, remoting.CLUSTER_INFO).body
        return list(ClusterInfo.from_json(body).broker_addr_table)


@pytest.fixture(scope="module", params=["official", "tailfin"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp(request.param)
    (home / "mqadmin").mkdir()
    with (
        servers.nameserver(request.param, home / "namesrv", {"orderMessageEnable": "true"}) as namesrv,
        servers.broker("official", home / "broker", namesrv.address, BROKER) as broker,
        mqadmin.running(home / "mqadmin") as admin,
    ):
        scene = Scene(namesrv.address, broker, admin)
        wait_until(lambda: scene.brokers() == [BROKER], "the broker to register")
        yield scene


@pytest.mark.shows("NS-12", "NS-13")
def test_cluster_list_shows_the_broker(scene: Scene) -> None:
    output = scene.run("clusterList")
    assert "DefaultCluster" in output
    assert BROKER in output
    assert scene.broker.address in output
    assert "V5_5_0" in output


@pytest.mark.shows("NS-31")
def test_topic_route_names_queues_and_addresses(scene: Scene) -> None:
    made = scene.run("updateTopic", "-c", "DefaultCluster", "-t", "Routed", "-r", "3", "-w", "5")
    assert "success" in made
    wait_until(lambda: "Routed" in scene.topics(), "the topic's registration")
    route = TopicRouteData.from_json(scene.run("topicRoute", "-t", "Routed"))
    (queues,) = route.queue_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.write_queue_nums) == (BROKER, 3, 5)
    (broker,) = route.broker_datas
    assert (broker.cluster, broker.broker_addrs) == ("DefaultCluster", {0: scene.broker.address})


@pytest.mark.shows("NS-33")
def test_the_route_of_an_unknown_topic_is_refused(scene: Scene) -> None:
    assert "CODE: 17" in scene.run("topicRoute", "-t", "NeverMade")


def test_topic_lists_by_cluster(scene: Scene) -> None:
    scene.run("updateTopic", "-c", "DefaultCluster", "-t", "Listed")
    wait_until(lambda: "Listed" in scene.topics(), "the topic's registration")
    assert "Listed" in scene.run("topicList").split()
    assert "Listed" in scene.run("topicList", "-c")
    assert "DefaultCluster" in scene.run("topicClusterList", "-t", "Listed")


def test_a_deleted_topic_is_routed_no_more(scene: Scene) -> None:
    scene.run("updateTopic", "-c", "DefaultCluster", "-t", "Deleted")
    wait_until(lambda: "Deleted" in scene.topics(), "the topic's registration")
    assert "success" in scene.run("deleteTopic", "-c", "DefaultCluster", "-t", "Deleted")
    assert "Deleted" not in scene.topics()


def test_write_permission_is_wiped_and_added(scene: Scene) -> None:
    def perms() -> set[int]:
        body = remoting.ask(scene.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "SELF_TEST_TOPIC"}).body
        return {each.perm for each in TopicRouteData.from_json(body).queue_datas}

    assert perms() == {6}
    assert "OK" in scene.run("wipeWritePerm", "-b", BROKER)
    if perms() != {4}:
        # A broker whose topics changed in other tests registers anew, once, and has its permission back.
        assert "OK" in scene.run("wipeWritePerm", "-b", BROKER)
    assert perms() == {4}
    assert "OK" in scene.run("addWritePerm", "-b", BROKER)
    assert perms() == {6}


@pytest.mark.shows("NS-32", "NS-36")
def test_order_config_reaches_the_route(scene: Scene) -> None:
    scene.run("updateTopic", "-c", "DefaultCluster", "-t", "Ordered", "-o", "true")
    wait_until(lambda: "Ordered" in scene.topics(), "the topic's registration")
    put = scene.run("updateKvConfig", "-s", "ORDER_TOPIC_CONFIG", "-k", "Ordered", "-v", f"{BROKER}:8")
    assert "success" in put
    route = TopicRouteData.from_json(scene.run("topicRoute", "-t", "Ordered"))
    assert route.order_topic_conf == f"{BROKER}:8"
    deleted = scene.run("deleteKvConfig", "-s", "ORDER_TOPIC_CONFIG", "-k", "Ordered")
    assert "success" in deleted


def test_settings_are_shown_and_changed(scene: Scene) -> None:
    shown = scene.run("getNamesrvConfig")
    assert "scanNotActiveBrokerInterval" in shown
    changed = scene.run("updateNamesrvConfig", "-k", "waitSecondsForService", "-v", "46")
    assert "success" in changed
    assert "46" in scene.run("getNamesrvConfig")
    refused = scene.run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "elsewhere")
    assert "CODE: 16" in refused


@pytest.mark.shows("NS-30")
def test_a_killed_broker_is_noticed_at_once_by_name_servers_of_every_make(tmp_path: Path) -> None:
    with ExitStack() as stack:
        places = [
            stack.enter_context(servers.nameserver(make, tmp_path / make)).address
            for make in get_args(servers.Make)
        ]
        broker = stack.enter_context(
            servers.broker("official", tmp_path / "broker", ";".join(places), BROKER)
        )

        def known() -> list[list[str]]:
            bodies = [remoting.ask(place, remoting.CLUSTER_INFO).body for place in places]
            return [list(ClusterInfo.from_json(body).broker_addr_table) for body in bodies]

        wait_until(lambda: known() == [[BROKER]] * len(places), "the broker to register")
        broker.process.kill()
        wait_until(lambda: known() == [[]] * len(places), "the broker's end to be noticed")


@pytest.mark.shows("NS-35")
def test_one_broker_registers_with_name_servers_of_both_makes(tmp_path: Path) -> None:
    with (
        servers.nameserver("tailfin", tmp_path / "tailfin") as ours,
        servers.nameserver("official", tmp_path / "official") as theirs,
        servers.broker("official", tmp_path / "broker", f"{ours.address};{theirs.address}", BROKER),
    ):

        def answers(code: int, **fields: str) -> list[bytes]:
            return [remoting.ask(each.address, code, fields).body for each in (ours, theirs)]

        def infos() -> list[ClusterInfo]:
            return [ClusterInfo.from_json(body) for body in answers(remoting.CLUSTER_INFO)]

        wait_until(lambda: all(info.broker_addr_table for info in infos()), "both registrations")
        mine, other = infos()
        assert mine == other
        lists = [
            set(TopicList.from_json(body).topic_list)
            for body in answers(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        ]
        assert lists[0] == lists[1]
        for topic in sorted(lists[0]):
            first, second = answers(Code.GET_ROUTEINFO_BY_TOPIC, topic=topic)
            assert TopicRouteData.from_json(first) == TopicRouteData.from_json(second)
