"""Filling the page cache, as it is filled on a server that has been up for a while.

A guest of a virtual machine hands free memory back to its host, and each page of it costs microseconds to get
again: far more than any store needs to write it. With the cache full, a new page is an old page taken over,
which is what a store meets in service.
"""

import os
from pathlib import Path

GIB = 1 << 30
# For the programs: the Java side has a heap of 2 GiB and memory beside it.
LEFT_FREE = 4 * GIB
BLOCK = 4 << 20


def fill_page_cache(folder: Path) -> None:
    """Read a file of nothing but a hole until it fills the memory that is left over."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = memory - LEFT_FREE
    if size <= 0:
        return
    path = folder / "ballast"
    with path.open("ab+") as file:
        file.truncate(size)
        file.seek(0)
        block = memoryview(bytearray(BLOCK))
        while os.readv(file.fileno(), [block]):
            pass
