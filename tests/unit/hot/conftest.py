from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.hot.node import Client, Node, running


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with running(tmp_path / "store") as node:
        yield node


@pytest.fixture
def client(node: Node) -> Iterator[Client]:
    with node.client() as client:
        yield client
