"""A directory that Tailfin wrote, closed in order or killed, opened by the official store."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop import agree, official
from tests.interop.corpus import LONG_RETRY_TOPIC, Corpus, open_store
from tests.interop.official import ROOT, SMALL, Answers, Line, Settings

IPV6_HOST = "[fd00::7]:10911"
# Nothing derived reaches the disk before an orderly end, or before it is told to.
SLOW: Settings = {"flushIntervalConsumeQueue": 600_000}


class Written(NamedTuple):
    directory: Path
    acks: list[Line]
    answers: Answers


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """20,000 messages, 200 delayed ones, of a store that was closed in order."""
    root = tmp_path_factory.mktemp("tailfin-closed")
    with open_store(root / "store") as store:
        acks = Corpus(store).write(20_000, delayed=200)
    return Written(root / "store", acks, official.read(official.copy(root / "store", root / "read")))


@pytest.mark.shows("CL-13", "CL-16", "CL-17", "CL-19", "CL-23", "CL-26", "CL-27", "CL-31", "CQ-03", "ST-22")
def test_java_reads_every_message_of_a_closed_store(closed: Written) -> None:
    assert {ack["sysFlag"] & 12 for ack in closed.acks} == {0, 4, 8, 12}
    assert any(ack["topic"] == LONG_RETRY_TOPIC for ack in closed.acks)
    assert len(list((closed.directory / "commitlog").iterdir())) > 3
    agree.assert_java_has_all(closed.acks, closed.answers)
    queued, unqueued = agree.parted(closed.acks)
    assert sum(line["maxOffset"] for line in closed.answers.queues.values()) == len(queued)
    assert {ack["queueOffset"] for ack in unqueued} == {0}


@pytest.mark.shows("CQ-01", "CQ-08", "CQ-11", "IX-01", "IX-03", "IX-11", "RD-14")
def test_java_answers_as_tailfin_does(closed: Written, tmp_path: Path) -> None:
    directory = official.copy(closed.directory, tmp_path / "store")
    agree.assert_tailfin_answers_alike(directory, closed.answers)


def test_java_finds_the_end_of_the_log_where_tailfin_ended_it(closed: Written, tmp_path: Path) -> None:
    with open_store(official.copy(closed.directory, tmp_path / "store")) as store:
        assert closed.answers.store["maxPhysicalOffset"] == store.max_physical_offset
        assert closed.answers.store["minPhysicalOffset"] == 0


@pytest.mark.shows("CL-17", "CL-31")
def test_java_reads_a_store_whose_own_host_is_ipv6(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", {**SMALL, "storeHost": IPV6_HOST}) as store:
        acks = Corpus(store, seed=5).write(1000)
    assert all(len(ack["offsetMsgId"]) == 56 for ack in acks)
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"))
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers)


def kill_writer(directory: Path, after: int, settings: Settings, keep_every: int = 0) -> list[Line]:
    """Let a process write until it has acknowledged so many messages, kill it, and return them all."""
    arguments = [str(directory), json.dumps(settings), str(keep_every)]
    command = [sys.executable, "-m", "tests.interop.corpus", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        lines += writer.stdout.readlines()
    assert (directory / "abort").exists()
    # What the kill left of a line in the pipe was not acknowledged.
    return [json.loads(line) for line in lines if line.endswith("\n")]


KILLS = [
    pytest.param(200, {}, 0, id="at-once"),
    pytest.param(8000, SLOW, 0, id="nothing-derived-on-disk"),
    pytest.param(9000, SLOW, 2500, id="checkpoint-moving"),
    pytest.param(1000, {"flushDiskType": "SYNC_FLUSH"}, 0, id="sync-flush"),
]


@pytest.mark.parametrize(("after", "settings", "keep_every"), KILLS)
@pytest.mark.shows("RC-07", "RC-08", "U-17")
def test_java_reads_everything_acknowledged_before_a_kill(
    after: int, settings: Settings, keep_every: int, tmp_path: Path
) -> None:
    acks = kill_writer(tmp_path / "store", after, settings, keep_every)
    moved = any((tmp_path / "store" / "checkpoint").read_bytes()[8:16])
    assert moved or not keep_every
    answers = official.read(official.copy(tmp_path / "store", tmp_path / "read"))
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_has_all(acks, official.copy(tmp_path / "store", tmp_path / "own"))
    agree.assert_tailfin_answers_alike(tmp_path / "store", answers)


def test_java_finds_all_when_tailfin_is_killed_again_right_after_recovery(tmp_path: Path) -> None:
    """Recovery builds queues in memory: the checkpoint must not promise them before they are written."""
    directory = tmp_path / "store"
    acks = kill_writer(directory, 9000, SLOW, keep_every=2500)
    command = [sys.executable, "-c", OPEN_AND_STAY, str(directory), json.dumps({**SMALL, **SLOW})]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as opener:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "READY\n"
        opener.kill()
    answers = official.read(official.copy(directory, tmp_path / "read"))
    agree.assert_java_has_all(acks, answers)
    agree.assert_tailfin_answers_alike(directory, answers)


OPEN_AND_STAY = """
import json, sys, time
from tailfin.store import Store
store = Store(sys.argv[1], **json.loads(sys.argv[2]))
print("READY", flush=True)
time.sleep(600)
"""
