"""What Python workers do with memory that was freed."""

import subprocess
import sys

BLOCKS = """
import ctypes, resource
from tailfin.spark.memory import keep_freed

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def fill_and_free():
    blocks = [libc.malloc(8 << 20) for _ in range(8)]
    for block in blocks:
        ctypes.memset(block, 1, 8 << 20)
    for block in blocks:
        libc.free(block)


keep_freed()
fill_and_free()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
fill_and_free()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_freed_memory_is_used_again_and_not_fetched_from_the_kernel() -> None:
    said = subprocess.run([sys.executable, "-c", BLOCKS], check=True, capture_output=True, text=True).stdout
    assert int(said) < 1000  # of the 16,384 pages
