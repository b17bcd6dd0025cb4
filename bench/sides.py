"""The two sides and the machine's limits: programs that are run one after another and print JSON lines."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
JAVA_TARGET = ROOT / "tests/interop/java/target"
# The heap of the official broker.
JAVA_FLAGS = (
    "-XX:-UsePerfData",
    "-Xms2g",
    "-Xmx2g",
    "-XX:MaxDirectMemorySize=4g",
    "-XX:+UseG1GC",
)
RUN_SECONDS_MAX = 3600
STDERR_SHOWN = 600
WATCH_SECONDS = 0.01

Figures = dict[str, Any]


class BenchError(Exception):
    """A run that did not come to its end."""


class DifferentWork(BenchError):
    """The sides did not do the same, so their figures must not stand side by side."""


def build_engine_bench() -> Path:
    """Build the engine's program and return where it is."""
    command = ["cargo", "build", "--release", "-p", "tailfin-engine", "--bench", "store"]
    built = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    if built.returncode != 0:
        raise BenchError("the engine's bench program does not build")
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "store":
            return Path(message["executable"])
    raise BenchError("cargo built no bench program")


def java_command() -> list[str]:
    if not (JAVA_TARGET / "classes").is_dir():
        raise BenchError("the Java programs are not built: make peers")
    return ["java", *JAVA_FLAGS, "-cp", f"{JAVA_TARGET}/classes:{JAVA_TARGET}/lib/*", "tailfin.StoreBench"]


def python_command() -> list[str]:
    return [sys.executable, "-m", "bench.python_side"]


class MemoryWatch(threading.Thread):
    """Watches a process from outside: what it frees again was needed as well."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{pid}/status")
        self.most = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(WATCH_SECONDS):
            try:
                found = re.search(r"RssAnon:\s+(\d+) kB", self.status.read_text())
            except OSError:
                return
            if found:
                self.most = max(self.most, int(found[1]) * 1024)

    def stop(self) -> None:
        self.done.set()
        self.join()


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> list[Figures]:
    """Run a program to its end; return its lines, each with what the whole process used."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors)
        watchdog = threading.Timer(RUN_SECONDS_MAX, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            watch = MemoryWatch(process.pid)
            watch.start()
            output = process.stdout.read()
            watch.stop()
            # Not process.wait(): only wait4 tells what the process used.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()
            if process.stdout is not None:
                process.stdout.close()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise BenchError(f"{Path(command[0]).name} ended with {process.returncode}: {said[-STDERR_SHOWN:]}")
    if said:
        print(f"    {said[-STDERR_SHOWN:]}", file=sys.stderr)
    used = {
        "processCpuSeconds": round(usage.ru_utime + usage.ru_stime, 3),
        "processRssMaxBytes": usage.ru_maxrss * 1024,
        "processAnonMaxBytes": watch.most,
    }
    return [{**json.loads(line), **used} for line in output.splitlines() if line.startswith(b"{")]


def fill_until_killed(command: Sequence[str]) -> Figures:
    """Run a program that goes on writing after its first line; kill it then, and return that line."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
    finally:
        process.kill()
        process.wait()
    if not line.startswith(b"{"):
        raise BenchError("the store to be killed ended by itself")
    figures: Figures = json.loads(line)
    return figures


def remove(path: Path) -> None:
    """Remove a directory and let the disk settle, so that the next run does not pay for this one."""
    shutil.rmtree(path, ignore_errors=True)
    os.sync()
