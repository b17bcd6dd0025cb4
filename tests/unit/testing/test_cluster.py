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
