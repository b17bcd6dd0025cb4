"""Memory of Python workers: what is freed is kept for the next batch."""

import ctypes
import functools

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 128 << 20
ALONE_BYTES = 32 << 20
"""Blocks from this size on are asked for and given back one by one."""


@functools.cache
def keep_freed() -> None:
    """Have the C library keep up to 128 MiB of freed memory instead of giving it back at once.

    Every batch takes megabytes, and pages that come fresh from the kernel are filled with zeros first. A
    library without these settings is left alone.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, ALONE_BYTES)
        set_option(_M_TRIM_THRESHOLD, KEPT_BYTES)
