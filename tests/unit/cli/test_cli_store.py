"""The offline tools, on a directory that a store left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailfin.cli import main
from tailfin.store import Store, StoreConfig, offline

SETTINGS = StoreConfig(
    mappedFileSizeCommitLog=16 << 10,
    mappedFileSizeConsumeQueue=20 * 50,
    maxHashSlotNum=100,
    maxIndexNum=2000,
)
COUNT = 200


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two hundred messages in T/0 and T/1 and a prepared one, over several files, closed."""
    root = tmp_path / "data"
    with Store(root, SETTINGS) as store:
        for number in range(COUNT):
            store.append(
                "T", f"body {number}".encode(), number % 2, tags="ab"[number % 2], keys=f"k{number} all"
            )
        store.append("T", b"half", sys_flag=0x4)
        store.append("Binary", b"\xff\x00")
        assert store.wait_for("Binary", 0, 0, 5.0)
    return root


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def run_json(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, dict[str, object]]:
    code = main(["store", *map(str, argv), "--json"])
    return code, json.loads(capsys.readouterr().out)


# inspect


def test_inspect_tells_queues_log_index_and_checkpoint(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "inspect", str(data), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["topics"]["T"][1] == {"queue": 1, "min": 0, "max": COUNT // 2, "files": 2}
    assert len(facts["log"]["files"]) >= 2
    assert facts["log"]["min_offset"] == 0
    assert facts["log"]["last_stored"] >= facts["log"]["first_stored"] > 0
    assert [(each["slots"], each["entries"]) for each in facts["index"]] == [(100, 3 * COUNT)]
    assert facts["checkpoint"]["physic_timestamp"] > 0
    assert (facts["abort"], facts["lock_held"]) == (False, False)


def test_inspect_prints_text(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "inspect", str(data)]) == 0
    assert "T/1  0 .. 100" in capsys.readouterr().out


def test_inspect_sees_a_running_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(tmp_path, SETTINGS):
        code, facts = run_json(capsys, "inspect", tmp_path)
    assert (code, facts["abort"], facts["lock_held"]) == (0, True, True)


def test_inspect_takes_the_commitlog_folder_too(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, facts = run_json(capsys, "inspect", data / "commitlog")
    assert facts["root"] == str(data)


def test_inspect_names_an_index_file_that_is_too_short_and_passes_over_a_folder(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, folder = data / "index" / "20260131120000000", data / "index" / "20260131120000001"
    short.write_bytes(bytes(39))
    folder.mkdir()
    code, facts = run_json(capsys, "inspect", data)
    assert code == 0
    damage = {"path": str(short), "size": 39, "damage": "39 bytes are too few for an index file"}
    assert str(damage) in str(facts["index"])
    assert str(folder) not in str(facts)
    assert main(["store", "inspect", str(data)]) == 0
    assert f"{short} DAMAGE: 39 bytes are too few" in capsys.readouterr().out
    assert main(["store", "verify", str(data)]) == 1
    out = capsys.readouterr().out
    assert f"DAMAGE: {short}: 39 bytes are too few" in out
    assert "1 damaged" in out


def test_the_end_of_a_queue_is_found_without_reading_its_holes(tmp_path: Path) -> None:
    size = 20 << 32  # nobody has the memory or the time to read that
    unit = offline.UNIT.pack(0, 100, 0)
    for start, units in ((0, 1), (size, 3), (2 * size, 0)):
        path = tmp_path / f"{start:020}"
        path.write_bytes(unit * units)
        os.truncate(path, size)
    queue = offline.Queue("T", 0, tmp_path)
    assert [file.used for file in queue.files] == [size, 60]
    assert queue.end_offset == (size + 60) // 20


@pytest.mark.parametrize("zeros", [0, 19, 20, 65_536, 200_000])
@pytest.mark.parametrize("units", [0, 1, 3_276, 3_277, 10_000])
def test_the_end_of_a_queue_is_found_before_written_zeros(tmp_path: Path, units: int, zeros: int) -> None:
    unit = offline.UNIT.pack(0, 100, 0)  # ends in zeros itself
    (tmp_path / f"{0:020}").write_bytes(unit * units + bytes(zeros))
    assert offline.Queue("T", 0, tmp_path).end_offset == units


# verify


def test_verify_finds_nothing_in_an_undamaged_store(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "verify", str(data)]) == 0
    out = capsys.readouterr().out
    assert f"{COUNT + 2} records, {COUNT + 1} units, {3 * COUNT} index entries: no damage" in out
    assert "DAMAGE" not in out


def test_the_tools_write_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(data)
    for verb in ("inspect", "verify", "dump"):
        main(["store", verb, str(data)])
    assert snapshot(data) == before


def test_verify_names_file_and_position_of_a_flipped_body(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "commitlog" / f"{0:020}"
    flip(file, file.read_bytes().index(b"body 20"))
    assert main(["store", "verify", str(data)]) == 1
    out = capsys.readouterr().out
    assert f"DAMAGE: {file}: position" in out
    assert "1 damaged" not in out  # its unit and its index entries point to it as well


def test_verify_finds_damage_in_the_last_record(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = offline.numbered(data / "commitlog")[-1][1]
    candidates = [path for _, path in offline.numbered(data / "commitlog") if b"Binary" in path.read_bytes()]
    assert candidates
    file = candidates[-1]
    flip(file, file.read_bytes().index(b"\xff\x00\x06Binary"))
    assert main(["store", "verify", str(data)]) == 1
    assert f"DAMAGE: {file}: position" in capsys.readouterr().out


@pytest.mark.parametrize("position", [7, 11, 19])
def test_verify_finds_a_flipped_queue_unit(
    data: Path, position: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "consumequeue" / "T" / "1" / f"{0:020}"
    flip(file, 10 * 20 + position)
    assert main(["store", "verify", str(data)]) == 1
    assert f"DAMAGE: {file}: position 200: " in capsys.readouterr().out


def test_verify_finds_an_emptied_queue_unit(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "consumequeue" / "T" / "1" / f"{0:020}"
    content = bytearray(file.read_bytes())
    content[200:220] = bytes(20)
    file.write_bytes(content)
    assert main(["store", "verify", str(data)]) == 1
    assert "an empty unit between others" in capsys.readouterr().out
    (data / "abort").write_text("1")
    assert main(["store", "verify", str(data)]) == 0
    assert "note: " in capsys.readouterr().out


def test_verify_finds_a_hole_at_the_end_of_a_queue_file(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data / "consumequeue" / "T" / "1" / f"{0:020}"
    content = bytearray(file.read_bytes())
    content[-20:] = bytes(20)
    file.write_bytes(content)
    assert main(["store", "verify", str(data)]) == 1
    assert f"DAMAGE: {file}: position 980: an empty unit" in capsys.readouterr().out


def test_verify_finds_a_queue_that_ends_early_unless_recovery_will_mend_it(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = offline.numbered(data / "consumequeue" / "T" / "1")[-1][1]
    content = bytearray(last.read_bytes())
    content[-40:] = bytes(40)
    last.write_bytes(content)
    assert main(["store", "verify", str(data)]) == 1
    assert "2 records, from number 98 of T/1 on," in capsys.readouterr().out
    (data / "abort").write_text("1")
    assert main(["store", "verify", str(data)]) == 0
    assert "it needs recovery" in capsys.readouterr().out


@pytest.mark.parametrize(("entry", "position"), [(5, 3), (5, 11), (5, 19)])
def test_verify_finds_a_flipped_index_entry(
    data: Path, entry: int, position: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = offline.index_paths(data / "index")
    conf = data.parent / "broker.conf"
    conf.write_text("maxHashSlotNum=100\nmaxIndexNum=2000\n")
    flip(file, 40 + 100 * 4 + entry * 20 + position)
    assert main(["store", "verify", str(data), "--config", str(conf)]) == 1
    assert f"DAMAGE: {file}: position" in capsys.readouterr().out


def test_verify_finds_a_flipped_index_slot(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = offline.index_paths(data / "index")
    flip(file, 40 + 50 * 4 + 3)
    assert main(["store", "verify", str(data)]) == 1
    assert f"DAMAGE: {file}: position {40 + 50 * 4}: slot 50" in capsys.readouterr().out


def test_verify_finds_a_senseless_checkpoint(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(data / "checkpoint", 8)
    assert main(["store", "verify", str(data)]) == 1
    assert f"DAMAGE: {data / 'checkpoint'}: position 8: logics_timestamp" in capsys.readouterr().out


def test_verify_takes_a_torn_tail_after_a_crash_as_what_recovery_cuts(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "abort").write_text("1")
    for _, file in offline.numbered(data / "commitlog"):
        content = bytearray(file.read_bytes())
        if (at := content.find(b"\xff\x00\x06Binary")) >= 0:
            content[at:] = bytes(len(content) - at)
            file.write_bytes(content)
    assert main(["store", "verify", str(data)]) == 0
    assert "note:" in capsys.readouterr().out


def test_verify_does_not_take_a_deleted_topic_for_damage(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(data, SETTINGS) as store:
        store.delete_topic("Binary")
    for file in sorted((data / "consumequeue" / "Binary").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    assert main(["store", "verify", str(data)]) == 0


def test_verify_reads_the_files_anew_each_time(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "verify", str(data)]) == 0
    file = data / "consumequeue" / "T" / "1" / f"{0:020}"
    flip(file, 211)
    assert main(["store", "verify", str(data)]) == 1
    flip(file, 211)
    assert main(["store", "verify", str(data)]) == 0
    with Store(data, SETTINGS) as store:
        store.append("T", b"more", 1)
        assert store.wait_for("T", 1, COUNT // 2, 5.0)
    assert main(["store", "verify", str(data)]) == 0


def test_verify_limits_what_it_prints(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "consumequeue" / "T" / "1" / f"{0:020}"
    for unit in range(20):
        flip(file, unit * 20 + 11)
    assert main(["store", "verify", str(data), "--max", "3"]) == 1
    assert "... and" in capsys.readouterr().out
    code, report = run_json(capsys, "verify", data)
    assert code == 1
    assert report["damaged"] == 20


# dump


def dump(capsys: pytest.CaptureFixture[str], data: Path, *argv: str) -> list[dict[str, object]]:
    assert main(["store", "dump", str(data), "--json", *argv]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_dump_prints_every_message_in_order(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = dump(capsys, data)
    assert len(messages) == COUNT + 2
    assert messages[3]["body"] == "body 3"
    assert messages[3]["properties"] == {"TAGS": "b", "KEYS": "k3 all"}
    assert (messages[-1]["body_base64"], "body" in messages[-1]) == ("/wA=", False)


@pytest.mark.parametrize(
    ("argv", "bodies"),
    [
        (["--key", "k7"], ["body 7"]),
        (["--topic", "T", "--queue", "1", "--limit", "2"], ["body 1", "body 3"]),
        (["--tag", "b", "--limit", "1"], ["body 1"]),
        (["--topic", "None"], []),
        (["--limit", "0"], []),
        (["--from", "2999-01-01T00:00:00Z"], []),
        (["--to", "0"], []),
        (["--from", "2020-01-01", "--limit", "1"], ["body 0"]),
    ],
)
def test_dump_filters(
    data: Path, argv: list[str], bodies: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [each["body"] for each in dump(capsys, data, *argv)] == bodies


def test_dump_begins_at_an_offset(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = dump(capsys, data, "--limit", "2")[1]
    assert dump(capsys, data, "--offset", str(second["physical_offset"]), "--limit", "1") == [second]


@pytest.mark.parametrize("offset", ["-1", str(10**20), "x"])
def test_dump_refuses_what_is_no_offset(data: Path, offset: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["store", "dump", str(data), f"--offset={offset}"])
    assert exited.value.code == 2
    assert "is no offset: use a number from 0 to" in capsys.readouterr().err


def test_dump_from_behind_the_end_says_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "dump", str(data), "--offset", str(2**63 - 1)]) == 1
    assert "no file holds this offset" in capsys.readouterr().err


def test_dump_prints_one_line_of_text_per_message(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "dump", str(data), "--limit", "1"]) == 0
    line = capsys.readouterr().out.strip()
    assert line.startswith("0 T/0/0 ")
    assert line.endswith("Z tags=a keys=k0 all body 0")


def test_dump_passes_over_damage_and_says_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "commitlog" / f"{0:020}"
    flip(file, file.read_bytes().index(b"body 20"))
    assert main(["store", "dump", str(data)]) == 1
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == COUNT + 1
    assert "passed over" in told.err


def test_dump_ends_quietly_when_its_reader_goes(data: Path) -> None:
    command = f"{sys.executable} -m tailfin store dump {data} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=20, check=False)
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 1


# All of them


@pytest.mark.parametrize("verb", ["inspect", "verify", "dump"])
def test_a_path_without_a_store_is_exit_code_2(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", verb, str(tmp_path / "none")]) == 2
    assert main(["store", verb, str(tmp_path)]) == 2
    assert "tailfin: " in capsys.readouterr().err
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - nothing was made


def test_a_folder_with_a_store_in_it_is_no_store_but_leads_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broker-a" / "commitlog").mkdir(parents=True)
    assert main(["store", "verify", str(tmp_path)]) == 2
    assert f"did you mean {tmp_path / 'broker-a'}?" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["inspect", "verify", "dump"])
def test_help_shows_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["store", verb, "--help"])
    assert ended.value.code == 0
    assert f"tailfin store {verb} data" in capsys.readouterr().out


def test_a_wrong_argument_is_exit_code_2(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["store", "dump", str(data), "--from", "yesterday"])
    assert ended.value.code == 2
    assert "'yesterday' is no time" in capsys.readouterr().err
