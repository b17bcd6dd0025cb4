"""Small files that are replaced as a whole: a power cut leaves the old one or the new one, never a half."""

import os
from pathlib import Path


def backup_of(path: Path) -> Path:
    """Return where the content before the last change is kept."""
    return path.with_name(path.name + ".bak")


def replace_file(path: Path, content: bytes) -> None:
    """Write a file anew, on disk when this returns, and keep the old one as `.bak`."""
    fresh = _written(path, content)
    if path.exists():
        kept = path.with_name(path.name + ".bak.tmp")
        kept.unlink(missing_ok=True)
        # A second name, not a move: at no moment is there no file.
        os.link(path, kept)
        kept.replace(backup_of(path))
    fresh.replace(path)
    sync_folder(path.parent)


def put_file(path: Path, content: bytes) -> None:
    """Write a file anew, on disk when this returns, and keep nothing of the old one."""
    _written(path, content).replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _written(path: Path, content: bytes) -> Path:
    """Write what is to become of a file beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return fresh
