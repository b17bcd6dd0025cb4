"""The cleaning policy: a function of clock, files, disk, settings and what it remembers."""

import shutil
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from tailfin.config import StoreConfig
from tailfin.store.expiry import MANUAL_ROUNDS, Cleaner, Disk, LogFile, Plan, State, plan, used

HOUR = 3_600_000
NOON = int(datetime(2026, 3, 10, 12, 0).timestamp() * 1000)
FOUR = int(datetime(2026, 3, 10, 4, 30).timestamp() * 1000)
ROOMY = Disk(0.5, 0.5)
CONFIG = StoreConfig()


def ages(now: int, *hours: float) -> list[LogFile]:
    """Files of 1024 bytes, last changed so many hours ago."""
    return [LogFile(index * 1024, 1024, int(now - age * HOUR)) for index, age in enumerate(hours)]


def decide(
    now: int = NOON,
    hours: tuple[float, ...] = (100, 90, 80, 1),
    disk: Disk = ROOMY,
    config: StoreConfig = CONFIG,
    state: State = State(),  # noqa: B008 - frozen
) -> Plan:
    return plan(now, ages(now, *hours), disk, config, state)


@pytest.mark.shows("CN-02")
def test_expired_files_go_at_the_hour() -> None:
    assert decide(FOUR).delete == (0, 1024, 2048)
    assert decide(FOUR).why == "time"


@pytest.mark.shows("CN-02")
def test_expired_files_stay_at_other_hours() -> None:
    assert decide(NOON).delete == ()


@pytest.mark.shows("CN-02")
def test_several_hours_are_joined_by_semicolons() -> None:
    config = StoreConfig(deleteWhen="04;12")
    assert decide(NOON, config=config).delete == decide(FOUR, config=config).delete == (0, 1024, 2048)


@pytest.mark.shows("CN-02", "CN-11")
def test_a_manual_request_cleans_at_any_hour_and_counts_down() -> None:
    decided = decide(NOON, state=State(manual_rounds=2))
    assert (decided.delete, decided.why) == ((0, 1024, 2048), "manual")
    assert decided.state.manual_rounds == 1


@pytest.mark.shows("CN-03", "X-06")
def test_files_are_kept_72_hours_by_default_and_48_when_so_set() -> None:
    assert decide(FOUR, (73, 71, 1)).delete == (0,)
    assert decide(FOUR, (73, 71, 1), config=StoreConfig(fileReservedTime=48)).delete == (0, 1024)


@pytest.mark.shows("CN-04", "X-07")
def test_a_file_expires_at_the_very_hour_after_its_last_change() -> None:
    assert decide(FOUR, (72, 1)).delete == (0,)
    assert decide(FOUR, (71.999, 1)).delete == ()


@pytest.mark.shows("CN-05", "CN-07")
@pytest.mark.parametrize("disk", [Disk(0.76, 0.1), Disk(0.1, 0.76), Disk(-1.0, 0.1), Disk(0.1, -1.0)])
def test_above_75_percent_or_unmeasurable_expired_files_go_at_any_hour(disk: Disk) -> None:
    decided = decide(hours=(100, 10, 1), disk=disk)
    assert (decided.delete, decided.why, decided.short_of_space) == ((0,), "space", True)


@pytest.mark.shows("CN-07")
def test_at_75_percent_exactly_there_is_no_shortage() -> None:
    assert decide(disk=Disk(0.75, 0.75)).delete == ()


@pytest.mark.shows("CN-05")
def test_above_85_percent_files_go_unexpired() -> None:
    decided = decide(hours=(3, 2, 1), disk=Disk(0.86, 0.1))
    assert decided.delete == (0, 1024)
    assert not decided.state.log_full


@pytest.mark.shows("CN-05")
def test_above_85_percent_unexpired_files_stay_when_force_is_off() -> None:
    config = StoreConfig(cleanFileForciblyEnable=False)
    assert decide(hours=(100, 2, 1), disk=Disk(0.86, 0.1), config=config).delete == (0,)


@pytest.mark.shows("CN-05")
def test_above_90_percent_the_disk_is_marked_full() -> None:
    assert decide(disk=Disk(0.91, 0.1)).state.log_full
    assert not decide(disk=Disk(0.90, 0.1)).state.log_full
    assert decide(disk=Disk(0.1, 0.91)).state.queues_full


@pytest.mark.shows("CN-06")
def test_the_mark_stays_between_the_ratios_and_is_cleared_at_the_forced_one() -> None:
    full = State(log_full=True, queues_full=True)
    assert decide(disk=Disk(0.86, 0.86), state=full).state.log_full
    assert decide(disk=Disk(0.86, 0.86), state=full).state.queues_full
    cleared = decide(disk=Disk(0.85, 0.85), state=full).state
    assert not cleared.log_full
    assert not cleared.queues_full


@pytest.mark.shows("CN-08")
def test_the_first_file_that_stays_ends_the_round() -> None:
    assert decide(FOUR, (100, 10, 100, 1)).delete == (0,)


@pytest.mark.shows("CN-08", "CN-11")
def test_the_last_file_is_never_touched() -> None:
    assert decide(FOUR, (100,), Disk(0.95, 0.95)).delete == ()
    assert decide(FOUR, (), Disk(0.95, 0.95)).delete == ()


@pytest.mark.shows("CN-09")
def test_a_round_deletes_ten_files_at_most() -> None:
    assert len(decide(FOUR, (100.0,) * 30).delete) == 10


@pytest.mark.shows("CN-10")
def test_a_held_file_is_tried_again_later_and_forced_at_last() -> None:
    held = State(held_start=0, held_since_ms=NOON, held_tried_ms=NOON)
    assert decide(NOON + 60_000, state=held).delete == ()
    assert decide(NOON + 60_000, state=held).state.held_start == 0
    later = decide(NOON + 120_001, state=held)
    assert (later.delete, later.even_if_held, later.why) == ((0,), True, "held")
    assert later.state.held_tried_ms == NOON + 120_001


@pytest.mark.shows("CN-10")
def test_a_held_file_is_not_forced_before_its_time() -> None:
    config = StoreConfig(redeleteHangedFileInterval=1000)
    held = State(held_start=0, held_since_ms=NOON, held_tried_ms=NOON)
    early = decide(NOON + 2000, state=held, config=config)
    assert (early.delete, early.even_if_held) == ((0,), False)


def test_a_held_file_that_is_gone_is_forgotten() -> None:
    assert decide(state=State(held_start=512)).state.held_start is None


@dataclass
class FakeStore:
    """Remembers what the cleaner did to it."""

    files: list[LogFile]
    calls: list[str] = field(default_factory=list)
    sweeps_fail: bool = False

    @property
    def min_physical_offset(self) -> int:
        return self.files[0].start

    def log_files(self) -> list[tuple[int, int, int, bool]]:
        return [(file.start, file.size, file.modified_ms, file.held) for file in self.files]

    def delete_first_log_file(self, *, even_if_held: bool = False) -> bool:
        if len(self.files) < 2 or (self.files[0].held and not even_if_held):
            self.calls.append("refused")
            return False
        self.calls.append(f"delete {self.files.pop(0).start}")
        return True

    def delete_expired_queue_files(self) -> int:
        self.calls.append("queues")
        if self.sweeps_fail:
            raise OSError("no space left")
        return 1

    def set_writable(self, reason: str, writable: bool) -> None:
        self.calls.append(f"{reason} {writable}")


@dataclass
class World:
    """A clock, a disk and a pause that tests turn by hand."""

    now_ms: int = NOON
    disk: Disk = ROOMY
    pauses: list[float] = field(default_factory=list)

    def cleaner(self, config: StoreConfig = CONFIG) -> Cleaner:
        return Cleaner(
            config, clock=lambda: self.now_ms / 1000, disk=lambda _: self.disk, pause=self.pauses.append
        )


@pytest.mark.shows("CN-01", "CN-09")
def test_the_log_goes_first_with_pauses_and_the_queues_follow() -> None:
    world, store = World(FOUR), FakeStore(ages(FOUR, 100, 90, 1))
    assert world.cleaner().run(store) == 2
    assert store.calls == ["delete 0", "delete 1024", "queues"]
    assert world.pauses == [0.1]


def test_queues_are_left_alone_while_the_log_does_not_move() -> None:
    world, store = World(), FakeStore(ages(NOON, 1))
    cleaner = world.cleaner()
    cleaner.run(store)
    cleaner.run(store)
    assert store.calls == ["queues"]


def test_a_sweep_of_the_queues_that_failed_is_done_again_in_the_next_round() -> None:
    world, store = World(), FakeStore(ages(NOON, 1), sweeps_fail=True)
    cleaner = world.cleaner()
    with pytest.raises(OSError, match="space"):
        cleaner.run(store)
    store.sweeps_fail = False
    cleaner.run(store)
    cleaner.run(store)
    assert store.calls == ["queues", "queues"]


@pytest.mark.shows("CN-05", "CN-06")
def test_appends_stop_above_90_percent_and_resume_at_85(caplog: pytest.LogCaptureFixture) -> None:
    world, store = World(), FakeStore(ages(NOON, 1))
    cleaner = world.cleaner()
    caplog.set_level("INFO", "tailfin.store")
    for share in (0.91, 0.91, 0.88, 0.85, 0.80):
        world.disk = Disk(share, 0.1)
        cleaner.run(store)
    assert [call for call in store.calls if "full" in call] == ["disk_full False", "disk_full True"]
    told = [record.getMessage() for record in caplog.records if "disk_full" in record.getMessage()]
    assert len(told) == 2


@pytest.mark.shows("CN-10")
def test_a_held_file_ends_the_round_and_is_forced_after_two_minutes() -> None:
    files = ages(FOUR, 100, 90, 1)
    files[0] = LogFile(0, 1024, files[0].modified_ms, held=True)
    world, store = World(FOUR), FakeStore(files)
    cleaner = world.cleaner()
    assert cleaner.run(store) == 0
    world.now_ms += 119_000
    assert cleaner.run(store) == 0
    world.now_ms += 2_000
    assert cleaner.run(store) == 2
    assert store.calls == ["refused", "queues", "refused", "delete 0", "delete 1024", "queues"]


@pytest.mark.shows("CN-11")
def test_a_manual_request_lasts_twenty_rounds() -> None:
    world, store = World(), FakeStore(ages(NOON, 1))
    cleaner = world.cleaner()
    cleaner.request()
    for _ in range(MANUAL_ROUNDS):
        assert cleaner.state.manual_rounds > 0
        cleaner.run(store)
    assert cleaner.state.manual_rounds == 0


def test_a_missing_directory_is_measured_by_its_parent(tmp_path: Path) -> None:
    assert used(tmp_path / "not" / "yet") == used(tmp_path) > 0


def test_a_begun_percent_counts_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil._ntuple_diskusage(2000, 751, 249)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert used(tmp_path) == 0.76
