from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop import official
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
