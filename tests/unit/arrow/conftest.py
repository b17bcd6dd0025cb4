"""The readers that a process keeps end with the module whose tests made them."""

from collections.abc import Iterator

import pytest

from tailfin.arrow.ranges import RangeReader


@pytest.fixture(scope="module", autouse=True)
def no_reader_is_left() -> Iterator[None]:
    yield
    RangeReader.stop_all()
