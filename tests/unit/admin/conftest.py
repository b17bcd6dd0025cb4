from collections.abc import Iterator

import pytest

from tests.unit.admin.scene import Scene
from tests.unit.admin.scene import scene as started


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Two brokers for all tests of a module: each has topics and groups of its own."""
    with started(brokers=2) as running:
        yield running
