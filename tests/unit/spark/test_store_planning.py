"""Store files without Spark: options, parts, and what a task reads of them."""

from pathlib import Path

import pytest

from tailfin.config.setting import ConfigError
from tailfin.spark.store_options import StoreOptions
from tailfin.spark.store_planning import LogPart, log_parts, split
from tailfin.spark.store_task import batches
from tailfin.store import Store, StoreConfig, StoreDamaged
from tailfin.store.offline import NoStore

SMALL = StoreConfig(mappedFileSizeCommitLog=1 << 20)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 messages of two topics, and some of RocketMQ's own, in several files."""
    path = tmp_path_factory.mktemp("written")
    with Store(path, SMALL) as store:
        for number in range(3000):
            store.append("orders" if number % 2 else "bills", b"%d" % number + b"x" * 800, number % 4)
        store.append("SCHEDULE_TOPIC_XXXX", b"later")
        store.append("rmq_sys_wheel_timer", b"later")
        store.append("C_REPLY_TOPIC", b"reply")
        store.append("orders", b"half", sys_flag=4)
    return path


def numbers(path: Path, **given: object) -> list[int]:
    options = StoreOptions.parse({"path": str(path)} | {name: str(value) for name, value in given.items()})
    return [
        int(body.rstrip(b"x"))
        for part in log_parts(options.directories(), options.splitBytes)
        for batch in batches(part, options, ["body"])
        for body in batch.column("body").to_pylist()
    ]


def test_parts_cover_a_file_and_only_its_start_is_known_to_be_a_record() -> None:
    assert list(split("f", 1000, 100, 30)) == [
        LogPart("f", 1000, 1033, is_record=True),
        LogPart("f", 1033, 1066, is_record=False),
        LogPart("f", 1066, 1100, is_record=False),
    ]
    assert list(split("f", 0, 10, 1 << 20)) == [LogPart("f", 0, 10, is_record=True)]


@pytest.mark.parametrize("split_bytes", [65_536, 100_003, 1 << 30])
def test_every_message_is_read_once_however_files_are_split(written: Path, split_bytes: int) -> None:
    assert numbers(written, splitBytes=split_bytes) == list(range(3000))


def test_topics_are_chosen_and_a_commitlog_folder_is_a_path_as_well(written: Path) -> None:
    assert numbers(written / "commitlog", topic="orders") == list(range(1, 3000, 2))
    assert numbers(written, topic="orders, bills", batchRows=7) == list(range(3000))
    assert numbers(written, topic="nothing") == []


def test_rocketmqs_own_topics_are_read_when_asked_for(written: Path) -> None:
    def bodies(**given: str) -> list[bytes]:
        options = StoreOptions.parse({"path": str(written)} | given)
        parts = log_parts(options.directories(), options.splitBytes)
        found = [
            body
            for part in parts
            for each in batches(part, options, ["body"])
            for body in each["body"].to_pylist()
        ]
        return [body for body in found if not body.endswith(b"x")]

    assert bodies() == []
    assert bodies(systemTopics="true") == [b"later", b"later", b"reply", b"half"]
    assert bodies(topic="SCHEDULE_TOPIC_XXXX") == [b"later"]


def test_times_bound_what_is_read(written: Path) -> None:
    assert numbers(written, startingTimestamp="2100-01-01T00:00:00Z") == []
    assert numbers(written, endingTimestamp="2000-01-01") == []
    assert len(numbers(written, startingTimestamp="0", endingTimestamp="4102444800000")) == 3000


def test_a_damaged_log_ends_the_query_or_is_read_on_behind_the_damage(
    written: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "commitlog"
    folder.mkdir()
    for file in (written / "commitlog").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    first = folder / f"{0:020}"
    data = bytearray(first.read_bytes())
    at = data.index(b"500x")
    data[at] ^= 0xFF
    first.write_bytes(data)
    for split_bytes in (65_536, 1 << 30):
        with pytest.raises(
            StoreDamaged,
            match=rf"damaged at {first}, position \d+: the body does not match its checksum; onDamage",
        ):
            numbers(tmp_path, splitBytes=split_bytes)
        found = numbers(tmp_path, splitBytes=split_bytes, onDamage="skip")
        assert found == [number for number in range(3000) if number != 500]
        assert "left out up to offset" in caplog.text


def test_a_truncated_log_is_told(written: Path, tmp_path: Path) -> None:
    folder = tmp_path / "commitlog"
    folder.mkdir()
    data = (written / "commitlog" / f"{0:020}").read_bytes()
    (folder / f"{0:020}").write_bytes(data[:500_000])
    with pytest.raises(StoreDamaged, match=r"the record states \d+ bytes, of which \d+ are here"):
        numbers(tmp_path)
    assert 0 < len(numbers(tmp_path, onDamage="skip")) < 600


def test_a_missing_file_is_told(written: Path, tmp_path: Path) -> None:
    folder = tmp_path / "commitlog"
    folder.mkdir()
    for file in sorted((written / "commitlog").iterdir())[:3:2]:
        (folder / file.name).write_bytes(file.read_bytes())
    with pytest.raises(StoreDamaged, match="no file holds this offset"):
        numbers(tmp_path)


def test_nothing_in_the_directory_changes(written: Path) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        return {each: (each.stat().st_mtime_ns, each.stat().st_size) for each in written.rglob("*")}

    before = state()
    numbers(written)
    assert state() == before


def test_several_directories_are_read_and_the_same_one_only_once(written: Path) -> None:
    both = f'["{written}", "{written}/commitlog"]'
    options = StoreOptions.parse({"paths": both})
    assert log_parts(options.directories(), 1 << 30) == log_parts([str(written)], 1 << 30)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "no store directory"),
        ({"paths": "a,b"}, "paths is a list of directories"),
        ({"path": "a", "onDamege": "skip"}, "no option 'onDamege': did you mean 'onDamage'"),
        ({"path": "a", "onDamage": "maybe"}, "onDamage"),
        ({"path": "a", "splitBytes": "many"}, "splitBytes"),
        ({"path": "a", "startingTimestamp": "noon"}, "startingTimestamp: a time such as"),
        ({"path": "a", "startingTimestamp": "2", "endingTimestamp": "1"}, "nothing between them"),
    ],
)
def test_options_that_cannot_work_are_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        StoreOptions.parse(given)


def test_a_path_without_a_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoStore, match="holds no store"):
        log_parts([str(tmp_path)], 1)
    with pytest.raises(NoStore, match="is not a directory"):
        log_parts([str(tmp_path / "none")], 1)
