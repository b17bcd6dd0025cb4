"""What planning opens for a process ends with the module whose tests asked for it."""

from collections.abc import Iterator

import pytest

from tailfin.spark.asking import Cluster


@pytest.fixture(scope="module", autouse=True)
def no_connection_is_left() -> Iterator[None]:
    yield
    Cluster.stop_all()
