"""Brokers, name servers and their figures."""

import pytest

from tailfin.admin import NotFound, Rate, Rates
from tailfin.admin.cluster import figures
from tailfin.admin.stats import together
from tailfin.wire.bodies.stats import BrokerStatsData, BrokerStatsItem
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError
from tests.unit.admin.scene import Scene
from tests.unit.admin.scene import scene as started


def test_brokers_are_listed_with_their_figures(scene: Scene) -> None:
    assert scene.admin.cluster.list() == {"DefaultCluster": ("broker-a", "broker-b")}
    members = scene.admin.cluster.brokers()
    assert [(each.name, each.broker_id, each.is_master) for each in members] == [
        ("broker-a", 0, True),
        ("broker-b", 0, True),
    ]
    assert [each.address for each in members] == [each.address for each in scene.cluster.brokers]
    assert all(each.figures and each.figures.active and each.trouble is None for each in members)
    of_cluster = scene.admin.cluster.brokers(cluster="DefaultCluster")
    assert [each.address for each in of_cluster] == [each.address for each in members]
    with pytest.raises(NotFound, match="no cluster 'Moon'"):
        scene.admin.cluster.brokers(cluster="Moon")


def test_a_broker_that_does_not_answer_says_why() -> None:
    with started(brokers=2) as scene:
        gone = scene.cluster.brokers[1]
        # Its registration stays at the name server, as after a crash.
        scene.cluster.run(gone.server.stop())
        alive, dead = scene.admin.cluster.brokers()
        assert alive.figures
        assert dead.figures is None
        assert dead.trouble
        assert scene.admin.topics.list() == ()


def test_settings_are_read_and_changed(scene: Scene) -> None:
    cluster = scene.admin.cluster
    before = cluster.config("broker-a")["fileReservedTime"]
    assert cluster.update_config({"fileReservedTime": 41}, broker="broker-a") == ("broker-a",)
    assert cluster.config("broker-a")["fileReservedTime"] == "41"
    assert cluster.config(scene.cluster.brokers[1].address)["fileReservedTime"] == before
    assert cluster.update_config({"traceOn": False}) == ("broker-a", "broker-b")
    assert cluster.config("broker-b")["traceOn"] == "false"
    with pytest.raises(RemotingError) as refused:
        cluster.update_config({"fileReservedTime": "soon"})
    assert refused.value.code == ResponseCode.INVALID_PARAMETER
    with pytest.raises(NotFound, match="no broker 'broker-z'"):
        cluster.config("broker-z")


def test_runtime_info_has_rocketmqs_names(scene: Scene) -> None:
    assert scene.admin.cluster.runtime("broker-a")["brokerActive"] == "true"


def test_name_servers_keep_settings_and_texts(scene: Scene) -> None:
    cluster, address = scene.admin.cluster, scene.cluster.namesrv
    assert cluster.update_nameserver_config({"orderMessageEnable": True}) == (address,)
    assert cluster.nameserver_config()[address]["orderMessageEnable"] == "true"
    assert cluster.kv_list("mine") == {}
    cluster.kv_put("mine", "key", "value")
    assert (cluster.kv_get("mine", "key"), cluster.kv_list("mine")) == ("value", {"key": "value"})
    cluster.kv_delete("mine", "key")
    assert cluster.kv_get("mine", "key") is None


def test_write_permission_is_taken_and_given(scene: Scene) -> None:
    scene.admin.topics.create("writable", broker="broker-b")
    assert scene.admin.cluster.wipe_write_permission("broker-b")[scene.cluster.namesrv] > 0
    assert scene.admin.topics.route("writable")[0].perm == 4
    assert scene.admin.cluster.add_write_permission("broker-b")[scene.cluster.namesrv] > 0
    assert scene.admin.topics.route("writable")[0].perm == 6
    with pytest.raises(NotFound, match="no broker 'broker-z'"):
        scene.admin.cluster.wipe_write_permission("broker-z")


def test_a_broker_cleans_up_when_told(scene: Scene) -> None:
    scene.admin.cluster.delete_expired_files("broker-a")
    scene.admin.cluster.delete_unused_topics("broker-a")


def test_figures_are_read_in_old_and_new_spelling() -> None:
    new = figures(
        {
            "brokerVersionDesc": "V5_3_3",
            "brokerActive": "true",
            "putTps": "1.5 2.0 3.0",
            "getTransferredTps": "0.0 1.0 1.0",
            "msgPutTotalTodayNow": "10",
            "msgPutTotalTodayMorning": "4",
            "commitLogDiskRatio": "0.25",
            "earliestMessageTimeStamp": "-1",
            "bootTimestamp": "1700000000000",
        }
    )
    assert (new.version, new.active, new.put_tps, new.get_tps) == ("V5_3_3", True, 1.5, 0.0)
    assert (new.put_today, new.get_today, new.disk_ratio) == (6, None, 0.25)
    assert (new.first_store_timestamp, new.boot_timestamp) == (None, 1_700_000_000_000)
    assert figures({"getTransferedTps": "7.0 1 1", "putTps": "?"}).get_tps == 7.0
    assert figures({"putTps": "?"}).put_tps is None


def test_figures_of_several_brokers_are_added() -> None:
    def counted(total: int) -> BrokerStatsData:
        return BrokerStatsData(stats_minute=BrokerStatsItem(sum=total, tps=total / 60))

    rates = together([counted(60), counted(120)])
    assert (rates.minute, rates.day) == (Rate(180, 3.0), Rate())


def test_a_figure_that_nobody_counted_is_zero(scene: Scene) -> None:
    scene.admin.topics.create("quiet")
    assert scene.admin.stats.topic("quiet").messages.minute == Rate()
    assert scene.admin.stats.group("nobody", "quiet").size.day == Rate()
    assert scene.admin.stats.figure("GROUP_GET_NUMS", "quiet@nobody", broker="broker-a").hour == Rate()
    with pytest.raises(NotFound, match="'nowhere'"):
        scene.admin.stats.topic("nowhere")


def test_what_was_sent_and_read_is_counted(scene: Scene) -> None:
    scene.admin.topics.create("busy", queues=1, broker="broker-a")
    for _ in range(3):
        scene.send("busy", b"0123456789")
    assert len(list(scene.admin.messages.read("busy"))) == 3
    sample(scene)
    traffic = scene.admin.stats.topic("busy")
    assert traffic.messages.minute.total == 3
    assert traffic.size.minute.total > 30
    assert traffic.messages.minute.per_second > 0
    assert scene.admin.stats.group("TOOLS_CONSUMER", "busy").messages.minute.total == 3
    assert scene.admin.stats.sent_to("broker-a").minute.total >= 3
    assert scene.admin.stats.read_from("broker-b") == Rates()


def sample(scene: Scene) -> None:
    """Have the brokers count now; they do every ten seconds."""

    async def now() -> None:
        for broker in scene.cluster.brokers:
            broker.counting.sample()

    scene.cluster.run(now())
