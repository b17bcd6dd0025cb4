from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.clients import clusters, go_client, java_client, mqadmin_run
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.mqadmin_run import Run

VERSIONS = ("4.9.8", "5.5.0")


@pytest.fixture(scope="session")
def java_runs(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Saw]]:
    """What each scenario saw, by version of the client: both run at once, since they mostly wait."""

    def run(version: str) -> dict[str, Saw]:
        return java_client.run(version, cluster, tmp_path_factory.mktemp("java-client"))

    with ThreadPoolExecutor() as pool:
        return dict(zip(VERSIONS, pool.map(run, VERSIONS), strict=True))


@pytest.fixture(params=VERSIONS)
def java(request: pytest.FixtureRequest, java_runs: dict[str, dict[str, Saw]]) -> dict[str, Saw]:
    """What each scenario of the official Java client saw; a scenario that failed has its error in it."""
    return java_runs[request.param]


@pytest.fixture(scope="session")
def admin_run(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What each command of the official mqadmin printed, at servers of its own: it sees all that is there."""
    home = tmp_path_factory.mktemp("mqadmin")
    with clusters.uniform("official" if cluster.make == "official" else "tailfin", home / "servers") as own:
        return mqadmin_run.run(own, home)


@pytest.fixture(scope="session")
def go(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Saw]:
    """What each scenario of the official Go client saw."""
    return go_client.run(cluster, tmp_path_factory.mktemp("go-client"))
