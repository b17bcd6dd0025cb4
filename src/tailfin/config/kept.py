"""The file that changed settings go to: written off the event loop, once for all who wait."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tailfin.config import files, properties
from tailfin.rounds import Rounds


class KeptSettings:
    """Puts changes into properties files, which keep their comments and all other lines.

    A line of the file is about the setting that `name_of` finds for its key.
    """

    def __init__(self, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of
        self._waiting: dict[Path, dict[str, str]] = {}
        self._rounds = Rounds(self._write)

    async def keep(self, path: Path, changes: dict[str, str]) -> None:
        """Have changes in a file; it is on disk when this returns.

        Raises:
            OSError: it could not be written.
        """
        self._waiting.setdefault(path, {}).update(changes)
        await self._rounds.served()

    async def _write(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for path, changes in waiting.items():
            await asyncio.to_thread(_change, path, changes, self._name_of)


def _change(path: Path, changes: dict[str, str], name_of: Callable[[str], str]) -> None:
    before, encoding = properties.decoded(path.read_bytes() if path.exists() else b"")
    after = properties.changed(before, changes, name_of)
    if after != before:
        files.replace_file(path, properties.encoded(after, encoding))
