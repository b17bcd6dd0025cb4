"""How the commit log of a store directory is shared out among tasks, without a broker or a lock."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tailfin.store import OfflineLog
from tailfin.store.offline import StoreFiles


@dataclass(frozen=True, slots=True)
class LogPart:
    """The records of a commit log that begin at `start` or later, and before `end`.

    Attributes:
        folder: where the log's files are.
        start: the first offset.
        end: the one after the last.
        is_record: whether a record begins at `start`; otherwise the first one after it has to be found.
    """

    folder: str
    start: int
    end: int
    is_record: bool


def log_parts(directories: Iterable[str], split_bytes: int) -> list[LogPart]:
    """Return the parts of the logs of some store directories.

    Raises:
        NoStore: a path holds no store.
    """
    folders = dict.fromkeys(str(StoreFiles.find(Path(each)).log.resolve()) for each in directories)
    return [
        part
        for folder in folders
        for start, size, _ in OfflineLog(folder).files()
        for part in split(folder, start, size, split_bytes)
    ]


def split(folder: str, start: int, size: int, split_bytes: int) -> Iterator[LogPart]:
    """Split a file into parts of about the same size; only at its start a record is known to begin."""
    count = max(round(size / split_bytes), 1)
    edges = [start + size * index // count for index in range(count + 1)]
    for first, end in itertools.pairwise(edges):
        yield LogPart(folder, first, end, is_record=first == start)
