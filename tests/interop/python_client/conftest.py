import asyncio
from collections.abc import Callable, Iterator

import pytest

import tailfin
from tests.interop.clients.clusters import Cluster
from tests.interop.python_client import puppets, scenes
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.styles import Style, loop_in_a_thread

MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with loop_in_a_thread() as loop:
        yield loop


@pytest.fixture(params=["blocking", "asyncio"])
def style(request: pytest.FixtureRequest, cluster: Cluster, loop: asyncio.AbstractEventLoop) -> Style:
    """The client in one style, and then in the other."""
    return Style(request.param, cluster.namesrv, loop)


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Iterator[tailfin.AdminClient]:
    with tailfin.AdminClient(nameserver=cluster.namesrv, request_timeout=20.0) as admin:
        yield admin


@pytest.fixture
def make_topic(admin: tailfin.AdminClient) -> MakeTopic:
    """Makes topics with names of their own."""

    def make(word: str, queues: int = 2) -> str:
        topic = scenes.fresh(word)
        admin.topics.create(topic, queues=queues)
        return topic

    return make


@pytest.fixture(scope="session")
def puppet(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Puppet]:
    """The official Java client of generation 5."""
    with puppets.running("5.5.0", cluster.namesrv, tmp_path_factory.mktemp("puppet")) as puppet:
        yield puppet
