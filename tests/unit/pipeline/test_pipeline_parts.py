"""Parts of ready-made pipelines that need no Spark: paces, folders, histories."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailfin.admin.progress import GroupProgress, QueueProgress
from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.pipeline import directories
from tailfin.pipeline.days import files_needed, last_day_over
from tailfin.pipeline.lag import History, Lag, of_group, trends
from tailfin.pipeline.replay import Pace, Stored, chunked, copy, target
from tailfin.pipeline.writers import only_writer

DAY_MS = 86_400_000


def test_a_replayed_queue_keeps_its_place_where_the_topic_has_it() -> None:
    queues = [Queue("t", "a", 0), Queue("t", "a", 1), Queue("t", "b", 0)]
    assert target(Queue("o", "b", 0), queues) == Queue("t", "b", 0)
    assert target(Queue("o", "c", 4), queues) == queues[1]


def test_a_pace_is_kept_from_the_beginning_on() -> None:
    now = [100.0]
    pace = Pace(10, lambda: now[0])
    assert pace.pause(20) == pytest.approx(2.0)
    now[0] = 103.0
    assert pace.pause(20) == 0.0
    assert Pace(None).pause(1_000_000) == 0.0


def test_a_copy_has_what_the_user_gave_and_no_trace_of_the_first_way() -> None:
    given = {"TAGS": "a", "colour": "blue", "UNIQ_KEY": "X1", "DELAY": "3", "RETRY_TOPIC": "r"}
    found = copy(Stored(Queue("t", "b", 0), "X1", b"body", 7, given), "to")
    assert (found.topic, found.body, found.flag) == ("to", b"body", 7)
    assert found.properties == {"TAGS": "a", "colour": "blue", "REPLAYED_MSG_ID": "X1", "WAIT": "true"}


def test_rows_are_sent_in_chunks() -> None:
    rows = [Stored(Queue("t", "b", 0), str(number), b"", 0, {}) for number in range(5)]
    assert [len(each) for each in chunked(iter(rows), 2)] == [2, 2, 1]


def test_a_day_is_over_an_hour_after_midnight() -> None:
    assert last_day_over(datetime(2026, 2, 1, 0, 59, tzinfo=UTC)) == date(2026, 1, 30)
    assert last_day_over(datetime(2026, 2, 1, 1, 0, tzinfo=UTC)) == date(2026, 1, 31)
    assert [files_needed(sizes, 100) for sizes in ([1], [60, 60], [])] == [1, 2, 1]


def test_two_folders_change_places_in_one_step(tmp_path: Path) -> None:
    current, fresh, replaced = (tmp_path / name for name in ("current", "fresh", "replaced"))
    for folder in (current, fresh, replaced):
        folder.mkdir()
        (folder / f"of-{folder.name}").touch()

    directories.replace(current, fresh, replaced)

    assert [each.name for each in current.iterdir()] == ["of-fresh"]
    assert [each.name for each in replaced.iterdir()] == ["of-current"]
    assert not fresh.exists()
    with pytest.raises(FileNotFoundError):
        directories.exchange(current, fresh)


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    with (
        only_writer(tmp_path / "a"),
        pytest.raises(ConfigError, match="somebody else writes to"),
        only_writer(tmp_path / "a"),
    ):
        pass
    with only_writer(tmp_path / "a"):
        pass


def test_lag_is_added_up_by_topic() -> None:
    queues = (
        QueueProgress(Queue("t", "a", 0), 5, 7, 10, 1000),
        QueueProgress(Queue("t", "a", 1), 10, 10, 10, 500),
        QueueProgress(Queue("u", "a", 0), 0, 0, 0, None),
    )
    assert of_group(GroupProgress("g", queues, 0.0), 4000) == [
        Lag(4000, "g", "t", lag=5, in_flight=2, offset=15, behind_ms=3000),
        Lag(4000, "g", "u", lag=0, in_flight=0, offset=0, behind_ms=0),
    ]


def test_a_history_of_lag_is_kept_by_day_and_summed_up(tmp_path: Path) -> None:
    history = History(tmp_path / "lag")
    with pytest.raises(ConfigError, match="holds no history of lag"):
        history.read()

    def noted(at: int, lag: int, offset: int) -> Lag:
        return Lag(at, "g", "t", lag, 0, offset, lag * 10)

    first = [noted(1000, 50, 100), noted(DAY_MS + 1000, 80, 200), noted(DAY_MS + 11_000, 20, 300)]
    for each in first[:2]:
        history.append([each])
    compacted = history.append([first[2]])  # the second day, long over, has two files now

    assert [(each.files_before, each.files_after) for each in compacted] == [(2, 1)]
    assert history.read() == first
    assert history.read(["other"]) == []
    assert history.read(since=DAY_MS) == first[1:]
    (trend,) = trends(history.read(since=DAY_MS))
    assert (trend.samples, trend.first, trend.last, trend.least, trend.most) == (2, 80, 20, 20, 80)
    assert (trend.behind_ms, trend.consumed_per_second) == (200, 10.0)
