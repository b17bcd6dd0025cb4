import pytest

from tests.interop.clients import go_client, java_client, mqadmin_run
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.mqadmin_run import Run


@pytest.fixture(scope="session", params=["4.9.8", "5.5.0"])
def java(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Saw]:
    """What each scenario of the official Java client saw; a scenario that failed has its error in it."""
    return java_client.run(request.param, cluster, tmp_path_factory.mktemp("java-client"))


@pytest.fixture(scope="session")
def admin_run(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What each command of the official mqadmin printed."""
    return mqadmin_run.run(cluster, tmp_path_factory.mktemp("mqadmin"))


@pytest.fixture(scope="session")
def go(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Saw]:
    """What each scenario of the official Go client saw."""
    return go_client.run(cluster, tmp_path_factory.mktemp("go-client"))
