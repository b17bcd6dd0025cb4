"""A running cluster of either make, or of both, as the tests see it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.waiting import wait_until
from tests.interop.clients import remoting, servers
from tests.interop.clients.servers import Make

CHECKS_MAX = 3
ASKS_EARLY = {
    "transactionTimeOut": 2000,
    "transactionCheckInterval": 1000,
    "transactionCheckMax": CHECKS_MAX,
    # The official broker waits this long before it writes what closes a transaction.
    "transactionOpBatchInterval": 300,
}
"""Settings of a broker that soon asks how transactions ended."""


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is, and who made it."""

    make: str
    namesrv: str
    brokers: dict[str, str]
    """Addresses by name."""

    def wait_registered(self) -> None:
        """Wait until the nameserver knows every broker."""
        wait_until(lambda: all(name.encode() in self._known() for name in self.brokers), "registration")

    def _known(self) -> bytes:
        return remoting.ask(self.namesrv, remoting.CLUSTER_INFO).body


@contextmanager
def running(
    name: str, home: Path, namesrv: Make, *brokers: Make, settings: Mapping[str, object] | None = None
) -> Iterator[Cluster]:
    """Run a cluster: a nameserver of one make, brokers of any, with settings of their own."""
    with ExitStack() as stack:
        at = stack.enter_context(servers.nameserver(namesrv, home / "namesrv")).address
        addresses = {}
        for letter, make in zip("abcdefg", brokers, strict=False):
            running = servers.broker(make, home / f"broker-{letter}", at, f"broker-{letter}", settings)
            addresses[f"broker-{letter}"] = stack.enter_context(running).address
        cluster = Cluster(name, at, addresses)
        cluster.wait_registered()
        yield cluster


@contextmanager
def uniform(make: Make, home: Path, settings: Mapping[str, object] | None = None) -> Iterator[Cluster]:
    """Run one nameserver and one broker of a make."""
    with running(make, home, make, make, settings=settings) as cluster:
        yield cluster
