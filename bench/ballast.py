"""Free memory filled with pages of files, as a server that has run for a while has it.

A page that a run needs is then one that the kernel takes from an old file. Free memory would not do on a
virtual machine: its host takes that back after seconds, and to get it again costs many times what the kernel
does with a page.
"""

import os
import shutil
import time
from pathlib import Path

from bench import machine

FREE_BYTES_LEFT = 512 << 20
DISK_BYTES_LEFT = 45 << 30  # more than any turn writes
BLOCK = bytes(1 << 20)
FILE_BLOCKS = 1024


def place(data: Path) -> Path:
    """Return the folder of the files; who makes it wants memory to be filled."""
    return data / "ballast"


def fill(data: Path) -> None:
    """Write files into free memory, but for a little, if that is wanted here and the disk has the space."""
    folder = place(data)
    if not folder.exists():
        return
    # Measured once: a kernel that gives pages back meanwhile would keep this busy for ever.
    blocks = (machine.memory("MemFree") - FREE_BYTES_LEFT) // len(BLOCK)
    for first in range(0, blocks, FILE_BLOCKS):
        if shutil.disk_usage(folder).free < DISK_BYTES_LEFT:
            return
        with (folder / str(time.monotonic_ns())).open("wb") as file:
            for _ in range(min(FILE_BLOCKS, blocks - first)):
                file.write(BLOCK)
            file.flush()
            os.fsync(file.fileno())
        _remove_evicted(folder)


def _remove_evicted(folder: Path) -> None:
    """Remove the oldest files beyond what memory can hold: none of their pages is left in it."""
    files = sorted(folder.iterdir(), key=lambda path: int(path.name))
    sizes = [path.stat().st_size for path in files]
    excess = sum(sizes) - machine.memory("MemTotal")
    for path, size in zip(files, sizes, strict=True):
        if excess < size:
            return
        path.unlink()
        excess -= size
