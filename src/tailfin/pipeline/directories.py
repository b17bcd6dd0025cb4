"""Two folders exchanged in one step: whoever lists one of them sees all that was there, or all that is."""

import ctypes
import errno
import os
import shutil
from pathlib import Path

from tailfin.config.setting import ConfigError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: Path, other: Path) -> None:
    """Give two folders each other's name, in one step.

    Raises:
        ConfigError: the file system cannot do that.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    done = rename and rename(_AT_FDCWD, bytes(one), _AT_FDCWD, bytes(other), _RENAME_EXCHANGE) == 0
    if done:
        return
    number = ctypes.get_errno() if rename else errno.ENOSYS
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        raise ConfigError(
            f"the file system of {one} cannot exchange two folders in one step: small files stay as "
            "they are; leave compacting out, or keep the archive on a local file system such as ext4 or XFS"
        )
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def replace(current: Path, fresh: Path, replaced: Path) -> None:
    """Put a folder in the place of another, whose files stay readable under a third name.

    A kill leaves either of them in place, whole; what is under the other two names can be removed.

    Args:
        current: the folder that readers know.
        fresh: what shall be in its place.
        replaced: where its files go.
    """
    exchange(current, fresh)
    shutil.rmtree(replaced, ignore_errors=True)
    fresh.rename(replaced)
