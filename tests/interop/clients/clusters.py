"""A running cluster of either make, as the tests see it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.waiting import wait_until
from tests.interop.clients import official_servers, remoting


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is, and who made it."""

    make: str
    namesrv: str
    brokers: dict[str, str]
    """Addresses by name."""

    def wait_registered(self) -> None:
        """Wait until the nameserver knows every broker."""
        wait_until(
            lambda: all(name.encode() in self._known() for name in self.brokers), "brokers to register"
        )

    def _known(self) -> bytes:
        return remoting.ask(self.namesrv, remoting.CLUSTER_INFO).body


@contextmanager
def official(home: Path) -> Iterator[Cluster]:
    """Run one official nameserver and one official broker."""
    with (
        official_servers.nameserver(home / "namesrv") as namesrv,
        official_servers.broker(home / "broker", namesrv.address) as broker,
    ):
        cluster = Cluster("official", namesrv.address, {"broker-a": broker.address})
        cluster.wait_registered()
        yield cluster
