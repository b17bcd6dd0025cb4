"""Clusters that want a signature, or TLS."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import tailfin
from tests.interop.clients import clusters, servers
from tests.unit.identities import made_identity
from tests.unit.spark.arriving import readable

PATIENCE_S = 20.0
ACCOUNTS = """\
accounts:
  - accessKey: reader-key
    secretKey: reader-secret
    admin: true
"""


def test_requests_are_signed_at_a_broker_that_checks_them(spark: SparkSession, tmp_path: Path) -> None:
    conf = tmp_path / "broker-a" / "conf"
    conf.mkdir(parents=True)
    (conf / "plain_acl.yml").write_text(ACCOUNTS)
    with clusters.uniform("official-4", tmp_path, {"aclEnable": "true"}) as cluster:
        with (
            tailfin.AdminClient(
                nameserver=cluster.namesrv,
                access_key="reader-key",
                secret_key="reader-secret",
                request_timeout=PATIENCE_S,
            ) as admin,
            tailfin.Producer(
                "signed",
                nameserver=cluster.namesrv,
                access_key="reader-key",
                secret_key="reader-secret",
                timeout=PATIENCE_S,
            ) as producer,
        ):
            admin.topics.create("guarded", queues=1)
            readable(admin, [producer.send(tailfin.Message("guarded", b"secret"))])
        reader = spark.read.format("rocketmq").options(nameServer=cluster.namesrv, topic="guarded")

        with pytest.raises(PySparkException, match="No accessKey is configured"):
            reader.load().collect()
        signed = reader.options(accessKey="reader-key", secretKey="reader-secret", securityToken="any")
        assert [bytes(row.body) for row in signed.load().collect()] == [b"secret"]


def test_tls_is_spoken_with_a_broker_that_speaks_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    chain, key = made_identity(tmp_path)
    shown = {"tls.server.certPath": chain, "tls.server.keyPath": key}
    enforced = shown | {"tls.server.mode": "enforcing"}
    safe = tailfin.Tls(ca=chain, check_hostname=False)
    with (
        servers.nameserver("tailfin", tmp_path / "namesrv", shown) as namesrv,
        servers.broker("tailfin", tmp_path / "broker", namesrv.address, "broker-a", enforced) as broker,
    ):
        clusters.Cluster("tailfin", namesrv.address, {"broker-a": broker.address}).wait_registered()
        with (
            tailfin.AdminClient(nameserver=namesrv.address, tls=safe, request_timeout=PATIENCE_S) as admin,
            tailfin.Producer("p", nameserver=namesrv.address, tls=safe, timeout=PATIENCE_S) as producer,
        ):
            admin.topics.create("private", queues=1)
            readable(admin, [producer.send(tailfin.Message("private", b"secret"))])

        options = {"tls": "true", "tlsCa": str(chain), "tlsCheckHostname": "false"}
        reader = spark.read.format("rocketmq").options(nameServer=namesrv.address, topic="private", **options)
        assert [bytes(row.body) for row in reader.load().collect()] == [b"secret"]
