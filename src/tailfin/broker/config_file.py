"""The small JSON files in `config/`: written whole, by replacement, with the version before kept as `.bak`.

A power cut leaves the old file or the new one, never half of one. A file that cannot be read is not taken
for an empty one: its `.bak` is used and said, and without that the broker does not start.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from tailfin.config import files
from tailfin.config.setting import ConfigError
from tailfin.wire import fastjson
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, Misshapen

T = TypeVar("T", bound=Body)

log = logging.getLogger("tailfin.broker")


class ConfigFileDamaged(ConfigError):
    """Neither a file nor its backup can be read; the text names both."""


def first_version() -> DataVersion:
    """Return the version of a table that was never written: another one after each loss of the file."""
    return DataVersion(timestamp=time.time_ns() // 1_000_000)


def following(version: DataVersion) -> DataVersion:
    """Return the version after a change."""
    return replace(version, counter=version.counter + 1, timestamp=time.time_ns() // 1_000_000)


class ConfigFile(Generic[T]):
    """One JSON object on disk."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self.path = path
        self.kind = kind
        self.backup = path.with_name(path.name + ".bak")

    def read(self) -> T | None:
        """Return the object, None when there was never one.

        Raises:
            ConfigFileDamaged: there is a file, but neither it nor its backup holds an object.
        """
        trouble: list[str] = []
        for path in (self.path, self.backup):
            try:
                found = self.kind.from_tree(fastjson.loads(path.read_bytes()))
            except FileNotFoundError:
                if path == self.path:
                    trouble.append(f"{path} is missing")
            except (fastjson.NotReadable, Misshapen) as error:
                trouble.append(f"{path} cannot be read ({error})")
            else:
                if trouble:
                    log.warning("%s; going on with %s", trouble[0], path)
                return found
        if not self.path.exists() and not self.backup.exists():
            return None
        raise ConfigFileDamaged(f"{'; '.join(trouble)}. Mend the file, or put a copy of it in place")

    def write(self, content: T) -> None:
        """Replace the file."""
        files.replace_file(self.path, content.to_json(pretty=True))


class Saver(Generic[T]):
    """Writes a file behind the changes: each write takes along all that changed before it began.

    A hundred topics made at once cost one or two writes, not a hundred, and the event loop waits for none.
    """

    def __init__(self, file: ConfigFile[T], snapshot: Callable[[], T]) -> None:
        self._file = file
        self._snapshot = snapshot
        self._changes = 0
        self._written = 0
        self._task: asyncio.Task[None] | None = None
        # `flush` may come while a thread still writes: one at a time, and the newer content stays.
        self._one_at_a_time = threading.Lock()

    def changed(self) -> None:
        """Have the file written soon."""
        self._changes += 1
        self._writing()

    async def settled(self) -> None:
        """Wait until everything changed so far is on disk.

        Raises:
            OSError: it could not be written.
        """
        wanted = self._changes
        while self._written < wanted:
            await asyncio.shield(self._writing())

    def flush(self) -> None:
        """Write now, on this thread, if something changed."""
        if self._written < self._changes:
            self._put(self._changes, self._snapshot())

    def _writing(self) -> asyncio.Task[None]:
        """Return the write under way, or begin one."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())
            self._task.add_done_callback(self._go_on)
        return self._task

    def _go_on(self, task: asyncio.Task[None]) -> None:
        # Nobody may be waiting; what went wrong is logged, and tried again with the next change.
        if not task.cancelled() and task.exception() is None and self._written < self._changes:
            self._writing()

    async def _write(self) -> None:
        """Write once: who waits for a change must not wait for all that come after it."""
        try:
            await asyncio.to_thread(self._put, self._changes, self._snapshot())
        except OSError as error:
            log.error("%s cannot be written: %s", self._file.path, error)
            raise

    def _put(self, changes: int, content: T) -> None:
        with self._one_at_a_time:
            if changes > self._written:
                self._file.write(content)
                self._written = changes
