from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop import official
from tests.interop.clients import clusters
from tests.interop.clients.clusters import Cluster
from tests.interop.official import Answers, Line

DELAYED = ("--schedule", "200")


class Written(NamedTuple):
    """A directory that Java wrote: copy it, never open it."""

    directory: Path
    acks: list[Line]
    answers: Answers


@pytest.fixture(scope="session")
def java_closed(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """20,000 messages, and 200 delayed ones, of a store that was closed in order."""
    root = tmp_path_factory.mktemp("java-closed")
    acks = official.write(root / "store", root / "acks", *DELAYED)
    return Written(root / "store", acks, official.read(official.copy(root / "store", root / "read")))


@pytest.fixture(scope="session")
def java_killed(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The same, of a store that was killed."""
    root = tmp_path_factory.mktemp("java-killed")
    acks = official.write_and_kill(root / "store", root / "acks", "--seed", "2", *DELAYED)
    return Written(root / "store", acks, official.read(official.copy(root / "store", root / "read")))


@pytest.fixture(params=["java_closed", "java_killed"])
def java_written(request: pytest.FixtureRequest) -> Written:
    """Both of them, one after the other."""
    written: Written = request.getfixturevalue(request.param)
    return written


@pytest.fixture(scope="session", params=["official", "tailfin"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The official servers first, then Tailfin's: what passes on the first is what the second owes."""
    with clusters.uniform(request.param, tmp_path_factory.mktemp(request.param)) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["official", "tailfin"])
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that soon asks how transactions ended.

    They have one of their own: an official broker keeps a core busy for ever after its first transaction.
    """
    with clusters.uniform(request.param, tmp_path_factory.mktemp("asking"), clusters.ASKS_EARLY) as cluster:
        yield cluster
