"""Folders that pipelines write themselves, without Spark: how users name them."""

import re
from pathlib import Path

from tailfin.config.setting import ConfigError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""What Spark takes for the name of a file system, in front of a path."""


def mounted(path: str) -> Path:
    """Return the folder that a user names, for files that are locked, moved and exchanged by the kernel.

    Raises:
        ConfigError: it is not on a file system that is mounted here.
    """
    scheme = _SCHEME.match(path)
    if scheme is None:
        return Path(path).absolute()
    if scheme[1].lower() != "file":
        raise ConfigError(
            f"{path} is not a folder of this machine or of a disk that is mounted here: give one; a pipeline "
            "in a file writes Parquet wherever Spark can"
        )
    return Path(path[len("file:") :].removeprefix("//")).absolute()
