from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailfin.config import StoreConfig
from tailfin.store import Store

SMALL = StoreConfig(
    mappedFileSizeCommitLog=64 << 10,
    mappedFileSizeConsumeQueue=20 * 100,
    maxHashSlotNum=100,
    maxIndexNum=2000,
)
"""Files so small that a test rolls them."""

Open = Callable[..., Store]


@pytest.fixture
def config() -> StoreConfig:
    return SMALL


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Open]:
    """Open the test's directory, again and again: the store before is closed first."""
    opened: list[Store] = []

    def open_store(**settings: object) -> Store:
        for earlier in opened:
            earlier.close()
        opened.append(Store(tmp_path / "data", SMALL, **settings))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def store(reopen: Open) -> Store:
    return reopen()
