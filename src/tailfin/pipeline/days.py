"""Folders of Parquet files, one a day: the small files of a day that is over become few large ones."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tailfin.pipeline import directories
from tailfin.pipeline.watching import PipelineFailed

OVER_AFTER = timedelta(hours=1)
"""A day is over so long after midnight, UTC: clocks of brokers differ, and messages take their time."""
REPLACED_KEPT_S = 3600.0
"""How long files that were written anew stay for those who are reading them."""

Rewrite = Callable[[Sequence[Path], Path], None]
"""Writes what files hold to a folder that is not there yet."""


@dataclass(frozen=True, slots=True)
class Day:
    """The folder of one day, in UTC."""

    folder: Path
    date: date

    @property
    def fresh(self) -> Path:
        """Where its files are written anew.

        Readers look past names that begin with `_`, but Spark not past those with `=` in them.
        """
        return self.folder.with_name(f"_new-{self.date}")

    @property
    def replaced(self) -> Path:
        """Where its files stay a while after they were written anew."""
        return self.folder.with_name(f"_old-{self.date}")

    def files(self) -> list[Path]:
        """Return its Parquet files."""
        return sorted(self.folder.glob("*.parquet"))


@dataclass(frozen=True, slots=True)
class Compacted:
    """A day whose files were written anew."""

    folder: str
    files_before: int
    files_after: int


def days(folders: Iterable[Path]) -> list[Day]:
    """Return the folders that are named `date=2026-01-31`."""
    found = []
    for folder in sorted(folders):
        with contextlib.suppress(ValueError):
            found.append(Day(folder, date.fromisoformat(folder.name.removeprefix("date="))))
    return found


def last_day_over(now: datetime | None = None) -> date:
    """Return the last day that is over."""
    return ((now or datetime.now(UTC)) - OVER_AFTER).date() - timedelta(days=1)


def compact_days(
    found: Iterable[Day], rewrite: Rewrite, *, now: datetime | None = None, target: int
) -> list[Compacted]:
    """Write the small files of all days that are over anew; nobody else may write meanwhile.

    Readers see the small files or the large ones, never both and never none. A kill leaves the small ones,
    or the large ones, whole; what it leaves beside them is removed the next time.

    Args:
        found: the days.
        rewrite: writes the files of a day anew.
        now: the time.
        target: bytes of a large file, about.
    """
    done = []
    for day in found:
        _tidy(day)
        sizes = [each.stat().st_size for each in day.files()]
        if day.date <= last_day_over(now) and len(sizes) >= 2 * files_needed(sizes, target):
            done.append(_rewrite(day, rewrite))
    return done


def files_needed(sizes: Sequence[int], target: int) -> int:
    """Return how many files of the target's size hold all that these hold."""
    return max(1, -(-sum(sizes) // target))


def _tidy(day: Day) -> None:
    """Remove what a killed run left, and what readers had time enough to finish with."""
    shutil.rmtree(day.fresh, ignore_errors=True)
    if day.replaced.exists() and time.time() - day.replaced.stat().st_ctime > REPLACED_KEPT_S:
        shutil.rmtree(day.replaced)


def _rewrite(day: Day, rewrite: Rewrite) -> Compacted:
    before = day.files()
    rewrite(before, day.fresh)
    after = sorted(day.fresh.glob("*.parquet"))
    if rows(before) != rows(after):
        raise PipelineFailed(
            f"{day.folder}: {rows(before)} rows became {rows(after)}; the folder is as it was"
        )
    directories.replace(day.folder, day.fresh, day.replaced)
    return Compacted(str(day.folder), len(before), len(after))


def rows(files: Iterable[Path]) -> int:
    """Count the rows of Parquet files, by what their ends say."""
    from pyarrow import parquet

    return sum(parquet.read_metadata(each).num_rows for each in files)
