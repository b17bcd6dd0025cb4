"""One writer at a time for a folder."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from tailfin.config.setting import ConfigError


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be, while nobody else may write to it.

    Raises:
        ConfigError: somebody else holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "_lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"somebody else writes to {folder}: wait, or stop it") from None
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
