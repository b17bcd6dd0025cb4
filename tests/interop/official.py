"""The official Java store, driven from tests: write a directory, read it, build its queues again.

What Java answers comes back as `Answers`; `tests.interop.agree` holds Tailfin's answers against them.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "java" / "target"
JVM = ("-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
LIMIT_S = 120

Settings = Mapping[str, int | bool | str]
Line = dict[str, Any]
QueueId = tuple[str, int]

SMALL: Settings = {
    "mappedFileSizeCommitLog": 2 << 20,
    "mappedFileSizeConsumeQueue": 20 * 500,
    "maxHashSlotNum": 5_000,
    "maxIndexNum": 20_000,
}
"""Files so small that a corpus goes through several of each kind."""


class Writer(Protocol):
    """What `write` and `write_and_kill` have in common."""

    def __call__(self, directory: Path, acks: Path, *options: str, settings: Settings = SMALL) -> list[Line]:
        """Let Java write the corpus; return what it acknowledged."""


QUERY_LIMIT = 64
"""Java's tool asks for this many messages of a key, and the store gives no more."""


@dataclass
class Answers:
    """Everything the official store said about a directory."""

    store: Line
    queues: dict[QueueId, Line] = field(default_factory=dict)
    messages: dict[QueueId, list[Line]] = field(default_factory=dict)
    tagged: list[Line] = field(default_factory=list)
    times: list[Line] = field(default_factory=list)
    keys: list[Line] = field(default_factory=list)

    def by_place(self) -> dict[tuple[str, int, int], Line]:
        """Return each message under its own topic, queue and offset; light queues hold it a second time."""
        lines = (line for of_queue in self.messages.values() for line in of_queue)
        return {(line["topic"], line["queueId"], line["queueOffset"]): line for line in lines}


def write(directory: Path, acks: Path, *options: str, settings: Settings = SMALL) -> list[Line]:
    """Let Java write the corpus and close in order; return what it acknowledged."""
    _run("write", directory, "--out", str(acks), *options, settings=settings)
    return list(_lines(acks))


def write_and_kill(directory: Path, acks: Path, *options: str, settings: Settings = SMALL) -> list[Line]:
    """Let Java write the corpus, then kill it as it stands there open."""
    command = _command("write", directory, "--out", str(acks), "--hang", *options, settings=settings)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as java:
        assert java.stdout is not None
        try:
            assert java.stdout.readline() == "READY\n", "the Java writer failed"
        finally:
            java.kill()
    assert (directory / "abort").exists()
    return list(_lines(acks))


def read(directory: Path, *options: str, settings: Settings = SMALL) -> Answers:
    """Ask Java everything about a directory. Opening changes it, so give a copy."""
    out = directory.with_name(directory.name + ".answers")
    # Without the limit of ten log files, which is not part of the format.
    _run(
        "read", directory, "--out", str(out), *options, settings={"commitLogRecoverMaxNum": 10**6, **settings}
    )
    answers = Answers({})
    pending: list[Line] = []
    for line in _lines(out):
        match line.pop("kind"):
            case "store":
                answers.store = line
            case "message":
                pending.append(line)
            case "queue":
                queue = line["topic"], line["queueId"]
                answers.queues[queue], answers.messages[queue] = line, pending
                pending = []
            case "tagged":
                answers.tagged.append(line)
            case "time":
                answers.times.append(line)
            case "key":
                answers.keys.append(line)
    assert answers.store["loaded"]
    return answers


def rebuild(directory: Path, *, settings: Settings = SMALL) -> None:
    """Let Java build queues and index again from the log."""
    _run("rebuild", directory, settings=settings)


def copy(source: Path, target: Path) -> Path:
    """Copy a store directory; its files are mostly holes, and stay so."""
    subprocess.run(["cp", "-a", "--reflink=auto", "--sparse=always", source, target], check=True)
    return target


def _run(command: str, directory: Path, *options: str, settings: Settings) -> None:
    line = _command(command, directory, *options, settings=settings)
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, f"StoreTool {command}: status {done.returncode}\n{done.stdout}{done.stderr}"


def _command(command: str, directory: Path, *options: str, settings: Settings) -> list[str]:
    java = shutil.which("java")
    if java is None or not (PROGRAMS / "classes").is_dir():
        pytest.fail("the Java programs are not there: run `make peers`", pytrace=False)
    pairs = [
        f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()
    ]
    tool = ["-cp", f"{PROGRAMS}/classes:{PROGRAMS}/lib/*", "tailfin.StoreTool"]
    return [java, *JVM, *tool, command, str(directory), *options, *pairs]


def _lines(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8") as file:
        for text in file:
            yield json.loads(text)
