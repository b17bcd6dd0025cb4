"""The small JSON files in `config/`: written whole, by replacement, with the version before kept as `.bak`.

A power cut leaves the old file or the new one, never half of one. A file that cannot be read is not taken
for an empty one: its `.bak` is used and said, and without that the broker does not start.
"""

import logging
import time
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
        self.write_text(content.to_json(pretty=True))

    def write_text(self, text: bytes) -> None:
        """Replace the file by an object that is written already."""
        files.replace_file(self.path, text)
