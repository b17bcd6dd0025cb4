"""The pytest fixture `tailfin_cluster`."""

from collections.abc import Iterator

import pytest

from tailfin.testing.cluster import Cluster, cluster


@pytest.fixture
def tailfin_cluster() -> Iterator[Cluster]:
    """Give a name server and one broker for one test."""
    with cluster() as running:
        yield running
