"""Small file systems in memory, to be filled or made read-only. They need root, as CI has it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def tmpfs(point: Path, size: str) -> Iterator[Path]:
    """Mount a file system of a size (`"1m"`) at a new directory."""
    point.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tailfin-test", str(point)],
        capture_output=True,
        text=True,
    )
    assert mounting.returncode == 0, f"these tests mount a tmpfs, which needs root: {mounting.stderr}"
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)
