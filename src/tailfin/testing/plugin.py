"""The pytest fixture `tailfin_cluster`; pytest loads this in every run, so a broker is imported by need."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailfin.testing.clusters import Cluster


@pytest.fixture
def tailfin_cluster() -> "Iterator[Cluster]":
    """Give a name server and one broker for one test."""
    from tailfin.testing.clusters import cluster

    with cluster() as running:
        yield running
