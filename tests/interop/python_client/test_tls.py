"""All clients with a broker that speaks nothing but TLS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tailfin
from tests.interop.clients import clusters, servers
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.scenario_checks import assert_same
from tests.interop.python_client import scenes
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import QUICK
from tests.unit.identities import made_identity

PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return made_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def private(identity: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose name server also takes clients, as its broker, without TLS."""
    home = tmp_path_factory.mktemp("private")
    chain, key = identity
    shown = {"tls.server.certPath": chain, "tls.server.keyPath": key}
    enforced = shown | {"tls.server.mode": "enforcing"}
    with (
        servers.nameserver("tailfin", home / "namesrv", shown) as namesrv,
        servers.broker("tailfin", home / "broker", namesrv.address, "broker-a", enforced) as broker,
    ):
        cluster = clusters.Cluster("tailfin", namesrv.address, {"broker-a": broker.address})
        cluster.wait_registered()
        yield cluster


def test_every_client_speaks_tls(private: Cluster, identity: tuple[Path, Path]) -> None:
    safe = tailfin.Tls(ca=identity[0], check_hostname=False)
    at = private.namesrv
    topic = fresh("private")
    messages = scenes.messages(topic, 20)
    ledger = Ledger()
    with (
        tailfin.AdminClient(nameserver=at, tls=safe, request_timeout=PATIENCE_S) as admin,
        tailfin.Producer(fresh("producers"), nameserver=at, tls=safe, timeout=PATIENCE_S) as producer,
    ):
        admin.topics.create(topic, queues=2)
        for message in messages[:5]:
            producer.send(message)
        for receipt in [producer.send_soon(message) for message in messages[5:]]:
            receipt.result(PATIENCE_S)
        with tailfin.PushConsumer(
            fresh("group"),
            nameserver=at,
            tls=safe,
            subscribe={topic: "*"},
            handler=ledger,
            consume_from="first",
            **QUICK,
        ):
            assert_same(ledger.wait(len(messages)), map(sent, messages))
        assert admin.topics.status(topic).messages == len(messages)


def test_a_client_that_trusts_somebody_else_says_so(private: Cluster, tmp_path: Path) -> None:
    stranger = tailfin.Tls(ca=made_identity(tmp_path)[0], check_hostname=False)
    with (
        tailfin.Producer(
            fresh("producers"), nameserver=private.namesrv, tls=stranger, timeout=PATIENCE_S
        ) as producer,
        pytest.raises(tailfin.NoNameServer, match="certificate verify failed"),
    ):
        producer.send(tailfin.Message("never-made", b"body"))


def test_a_client_without_tls_hears_that_the_broker_closes(private: Cluster) -> None:
    with (
        tailfin.Producer(
            fresh("producers"), nameserver=private.namesrv, retries=0, timeout=PATIENCE_S
        ) as producer,
        pytest.raises(tailfin.SendFailed, match=r"closed the connection|reset"),
    ):
        producer.send(tailfin.Message("never-made", b"body"))
