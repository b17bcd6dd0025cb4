"""The lag of groups, noted now and then in Parquet files: `tailfin pipeline lag`."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tailfin.admin.client import AdminClient
from tailfin.admin.progress import GroupProgress
from tailfin.config.setting import ConfigError
from tailfin.pipeline.days import Compacted, compact_days, days
from tailfin.pipeline.writers import only_writer

if TYPE_CHECKING:
    import pyarrow

TARGET_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group was behind in a topic at a time.

    Attributes:
        at: the time, in milliseconds since the epoch.
        group: the group.
        topic: the topic.
        lag: messages it had not consumed.
        in_flight: of these, messages that members held.
        offset: the sum of its offsets in all queues.
        behind_ms: how long ago the last message it consumed was stored, if it is not at the end.
    """

    at: int
    group: str
    topic: str
    lag: int
    in_flight: int
    offset: int
    behind_ms: int


async def look(admin: AdminClient, groups: Sequence[str], at: int) -> list[Lag]:
    """Ask how far groups are; none: all that there are."""
    found = []
    for group in groups or await admin.groups.list():
        found += of_group(await admin.offsets.progress(group), at)
    return found


def of_group(progress: GroupProgress, at: int) -> list[Lag]:
    """Add up the queues of each topic that a group reads."""
    topics = sorted({each.queue.topic for each in progress.queues})
    return [_of_topic(progress, topic, at) for topic in topics]


def _of_topic(progress: GroupProgress, topic: str, at: int) -> Lag:
    queues = [each for each in progress.queues if each.queue.topic == topic]
    late = [at - each.last_store_timestamp for each in queues if each.lag > 0 and each.last_store_timestamp]
    return Lag(
        at,
        progress.group,
        topic,
        sum(each.lag for each in queues),
        sum(each.in_flight for each in queues),
        sum(each.offset for each in queues),
        max([0, *late]),
    )


class History:
    """Files of what was noted, by day.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def append(self, noted: Sequence[Lag]) -> list[Compacted]:
        """Keep what was noted; when a day is over its files become one."""
        from pyarrow import parquet

        with only_writer(self._root):
            if noted:
                at = datetime.fromtimestamp(noted[0].at / 1000, UTC)
                folder = self._root / f"date={at.date()}"
                folder.mkdir(exist_ok=True)
                name = f"lag-{at:%H%M%S}-{time.time_ns()}.parquet"
                # A reader sees a file when it is whole.
                parquet.write_table(table(noted), folder / f"_{name}")
                (folder / f"_{name}").rename(folder / name)
            return compact_days(days(self._root.glob("date=*")), _as_one, target=TARGET_BYTES)

    def read(self, groups: Sequence[str] = (), since: int = 0) -> list[Lag]:
        """Return what was noted, oldest first.

        Args:
            groups: only these; none: all.
            since: from this time on, in milliseconds since the epoch.

        Raises:
            ConfigError: nothing was noted there.
        """
        from pyarrow import parquet

        first = datetime.fromtimestamp(since / 1000, UTC).date()
        found = [day for day in days(self._root.glob("date=*")) if day.date >= first]
        if not found and not days(self._root.glob("date=*")):
            raise ConfigError(f"{self._root} holds no history of lag: `tailfin pipeline lag --to` makes one")
        rows = [
            Lag(**row)
            for day in found
            for file in day.files()
            for row in parquet.read_table(file).to_pylist()
        ]
        wanted = [row for row in rows if row.at >= since and (not groups or row.group in groups)]
        return sorted(wanted, key=lambda row: (row.at, row.group, row.topic))


def table(noted: Iterable[Lag]) -> "pyarrow.Table":
    """Return rows as a table."""
    import pyarrow

    names = tuple(Lag.__dataclass_fields__)
    kinds = {"group": pyarrow.string(), "topic": pyarrow.string()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.int64())) for name in names])
    return pyarrow.Table.from_pylist(
        [{name: getattr(each, name) for name in names} for each in noted], schema=schema
    )


def _as_one(files: Sequence[Path], fresh: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    whole = pyarrow.concat_tables([parquet.read_table(file) for file in files])
    fresh.mkdir()
    parquet.write_table(whole.sort_by([("at", "ascending"), ("group", "ascending")]), fresh / "lag.parquet")


@dataclass(frozen=True, slots=True)
class Trend:
    """How the lag of a group in a topic went.

    Attributes:
        group: the group.
        topic: the topic.
        samples: how often it was noted.
        first: the first lag.
        last: the last one.
        least: the least one.
        most: the greatest one.
        behind_ms: how late the group was, the last time.
        consumed_per_second: how fast it consumed, from the first to the last; None: there is only one.
    """

    group: str
    topic: str
    samples: int
    first: int
    last: int
    least: int
    most: int
    behind_ms: int
    consumed_per_second: float | None


def trends(noted: Iterable[Lag]) -> list[Trend]:
    """Sum up a history by group and topic, the greatest last lag first."""
    series: dict[tuple[str, str], list[Lag]] = {}
    for each in noted:
        series.setdefault((each.group, each.topic), []).append(each)
    found = [_trend(*key, values) for key, values in series.items()]
    return sorted(found, key=lambda each: (-each.last, each.group, each.topic))


def _trend(group: str, topic: str, values: Sequence[Lag]) -> Trend:
    lags = [each.lag for each in values]
    first, last = values[0], values[-1]
    seconds = (last.at - first.at) / 1000
    rate = (last.offset - first.offset) / seconds if seconds > 0 else None
    return Trend(group, topic, len(values), first.lag, last.lag, min(lags), max(lags), last.behind_ms, rate)
