"""`tailfin.testing` as a user's tests see it."""

import socket

import pytest

from tailfin.testing import Cluster, cluster

pytest_plugins = ["tailfin.testing.plugin"]


def answers(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5):
        return True


def test_cluster_is_there_in_the_block_and_gone_after_it() -> None:
    with cluster(brokers=2, autoCreateTopicEnable=False) as running:
        assert answers(running.namesrv)
        assert [broker.config.brokerName for broker in running.brokers] == ["broker-a", "broker-b"]
        assert all(answers(broker.address) for broker in running.brokers)
        assert not running.broker.config.autoCreateTopicEnable
        address = running.namesrv
    with pytest.raises(OSError, match="refused"):
        answers(address)


def test_two_clusters_do_not_meet() -> None:
    with cluster() as one, cluster() as other:
        assert one.namesrv != other.namesrv


def test_fixture_gives_a_cluster(tailfin_cluster: Cluster) -> None:
    assert answers(tailfin_cluster.broker.address)


def test_failing_start_leaves_nothing_running() -> None:
    with pytest.raises(ValueError, match="unknown setting"), cluster(noSuchSetting=1):
        pass


@pytest.mark.parametrize(
    ("brokers", "key", "value", "says"),
    [
        (2, "brokerName", "x", "they are called broker-a, broker-b"),
        (2, "listenPort", 10911, "each takes a free port"),
        (3, "storePathRootDir", "/dev/null/x", "each has a folder of its own"),
        (1, "namesrvAddr", "127.0.0.1:9876", "a name server of their own: leave it out"),
    ],
)
def test_setting_that_brokers_cannot_share_is_refused(
    brokers: int, key: str, value: object, says: str
) -> None:
    with pytest.raises(ValueError, match=says), cluster(brokers=brokers, **{key: value}):  # type: ignore[arg-type]
        pass


def test_single_broker_has_the_name_it_is_given() -> None:
    with cluster(brokerName="x") as running:
        assert running.broker.config.brokerName == "x"
