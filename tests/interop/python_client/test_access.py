"""Signed requests at an official broker that checks them."""

from collections.abc import Iterator
from typing import Any

import pytest

import tailfin
from tailfin.wire.error import RemotingError
from tests.interop.clients import clusters
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.scenario_checks import assert_same
from tests.interop.python_client import scenes
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import QUICK

ACCOUNTS = """\
accounts:
  - accessKey: warden-key
    secretKey: warden-secret
    admin: true
  - accessKey: vendor-key
    secretKey: vendor-secret
    admin: false
    defaultTopicPerm: PUB|SUB
    defaultGroupPerm: SUB
"""
WARDEN: dict[str, Any] = {"access_key": "warden-key", "secret_key": "warden-secret"}
VENDOR: dict[str, Any] = {"access_key": "vendor-key", "secret_key": "vendor-secret"}
STRANGERS = pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "No accessKey is configured"),
        ({"access_key": "nobody", "secret_key": "x"}, "No acl config for nobody"),
        (VENDOR | {"secret_key": "wrong"}, "Check signature failed for accessKey=vendor-key"),
    ],
    ids=["no keys", "unknown key", "wrong secret"],
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An official cluster of generation 4, whose broker reads its accounts from its home."""
    home = tmp_path_factory.mktemp("guarded")
    conf = home / "broker-a" / "conf"
    conf.mkdir(parents=True)
    (conf / "plain_acl.yml").write_text(ACCOUNTS)
    with clusters.uniform("official-4", home, {"aclEnable": "true"}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def topic(guarded: Cluster) -> str:
    name = fresh("guarded")
    with tailfin.AdminClient(nameserver=guarded.namesrv, request_timeout=20.0, **WARDEN) as admin:
        admin.topics.create(name, queues=2)
    return name


@STRANGERS
def test_a_stranger_is_told_why_nothing_is_sent(
    guarded: Cluster, topic: str, keys: dict[str, Any], reason: str
) -> None:
    with tailfin.Producer(fresh("strangers"), nameserver=guarded.namesrv, timeout=20.0, **keys) as producer:
        with pytest.raises(tailfin.SendFailed, match=reason) as sent:
            producer.send(scenes.message(topic, 1))
        receipt = producer.send_soon(scenes.message(topic, 2))
        with pytest.raises(tailfin.SendFailed, match=reason) as posted:
            receipt.result(30.0)
        assert (sent.value.tries, posted.value.tries) == (1, 1)


@STRANGERS
def test_a_stranger_is_told_why_nothing_is_read(
    guarded: Cluster, topic: str, keys: dict[str, Any], reason: str
) -> None:
    with tailfin.PullConsumer(
        fresh("strangers"), nameserver=guarded.namesrv, request_timeout=20.0, **keys
    ) as reader:
        queue, *_ = reader.queues(topic)
        with pytest.raises(RemotingError, match=reason):
            reader.pull(queue, 0)
    with (
        tailfin.AdminClient(nameserver=guarded.namesrv, request_timeout=20.0, **keys) as admin,
        pytest.raises(RemotingError, match=reason),
    ):
        admin.topics.status(topic)


def test_an_account_has_its_own_rights_only(guarded: Cluster) -> None:
    with (
        tailfin.AdminClient(nameserver=guarded.namesrv, request_timeout=20.0, **VENDOR) as admin,
        pytest.raises(RemotingError, match="admin"),
    ):
        admin.topics.create(fresh("not-mine"), queues=1)


def test_who_signs_is_served(guarded: Cluster, topic: str) -> None:
    messages = scenes.messages(topic, 40)
    ledger = Ledger()
    with (
        tailfin.Producer(fresh("producers"), nameserver=guarded.namesrv, timeout=20.0, **VENDOR) as producer,
        tailfin.PushConsumer(
            fresh("group"),
            nameserver=guarded.namesrv,
            subscribe={topic: "*"},
            handler=ledger,
            consume_from="first",
            **VENDOR | QUICK,
        ),
        tailfin.AdminClient(nameserver=guarded.namesrv, request_timeout=20.0, **WARDEN) as admin,
    ):
        producer.send(messages[0])
        producer.send_batch(messages[1:10])
        for receipt in [producer.send_soon(message) for message in messages[10:]]:
            receipt.result(30.0)
        assert_same(ledger.wait(len(messages)), map(sent, messages))
        assert topic in admin.topics.list()
        assert admin.topics.status(topic).messages == len(messages)
