"""A disk that takes its time: files are replaced when the test allows it."""

import threading
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

import pytest

from tests.unit.loops import until

WRITE_WITHIN_S = 20


class SlowDisk:
    """Holds `replace_file` up until the block ends; after it, writes are as quick as ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: ModuleType) -> None:
        self.writes = 0
        self._replace = files.replace_file
        self._goes_on = threading.Event()
        monkeypatch.setattr(files, "replace_file", self._write)

    def _write(self, path: Path, content: bytes) -> None:
        self.writes += 1
        assert self._goes_on.wait(WRITE_WITHIN_S)
        self._replace(path, content)

    async def until_writing(self) -> None:
        """Wait until someone waits for the disk."""
        await until(lambda: self.writes, "a file to be written")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._goes_on.set()
