"""A cluster for all tests of a file: each uses topics and groups of its own."""

from collections.abc import Iterator

import pytest

from tailfin.testing import Cluster, cluster


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(brokers=2, enablePropertyFilter=True) as found:
        yield found
