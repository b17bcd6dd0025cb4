"""What a figure was measured on: enough to compare by, nothing that names the machine."""

import hashlib
import os
import platform
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUIET_SHARE = 0.1
QUIET_TRIES = 30


def describe(data: Path) -> dict[str, str | int]:
    """Describe this machine; `data` is where the stores are written."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count() or 0,
        "memoryGiB": round(memory("MemTotal") / (1 << 30)),
        "kernel": platform.release(),
        "fileSystem": _file_system(data),
        "java": _java(),
        "python": platform.python_version(),
        "rust": _output("rustc", "--version").removeprefix("rustc ").split(" (")[0],
    }


def short_id(machine: dict[str, str | int]) -> str:
    """Name a machine by what it is made of."""
    parts = f"{machine['cpu']}/{machine['cores']}/{machine['memoryGiB']}"
    return hashlib.sha256(parts.encode()).hexdigest()[:6]


def commit() -> str:
    """Return the commit measured, with a mark if the tree holds more than that."""
    head = _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "unknown"
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain", "--", ":!bench/results", ":!README.md")
    return f"{head}+changes" if changed else head


def busy() -> float:
    """Return how many processes wanted to run in the last minute."""
    return os.getloadavg()[0]


def memory(kind: str) -> int:
    """Return the bytes of memory of a kind that the kernel counts, such as MemFree."""
    return int(_field("/proc/meminfo", kind).split()[0]) << 10


def wait_quiet() -> None:
    """Wait until the kernel has tidied up after earlier runs, for a minute at most.

    It writes their files out and gives their memory back to the host for many seconds, and a message that
    comes when both cores are at that is late, whoever serves it.
    """
    os.sync()
    for _ in range(QUIET_TRIES):
        before = _processor_ticks()
        time.sleep(2)
        passed = [after - at_first for after, at_first in zip(_processor_ticks(), before, strict=True)]
        _user, _nice, _system, idle, io_wait, *_ = passed
        if idle + io_wait > (1 - QUIET_SHARE) * sum(passed):
            return


def _processor_ticks() -> list[int]:
    """Return what all cores did so far, by kind."""
    first, *_ = Path("/proc/stat").read_text().splitlines()
    return [int(each) for each in first.split()[1:9]]


def _java() -> str:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "unknown"


def _file_system(path: Path) -> str:
    """Return the type of the file system that `path` is on."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [mount for mount in mounts if path.is_relative_to(mount[1])]
    return max(holding, key=lambda mount: len(mount[1]))[2]


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
