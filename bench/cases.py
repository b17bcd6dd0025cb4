"""The cases: what is run on which side, in which order, on which directory.

Both sides take turns within a case, so that whatever else the machine does hits both. Every run starts on
a directory of its own, made from nothing or from the same bytes, with nothing waiting for the disk.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import ballast, sides
from bench.sides import BenchError, DifferentWork, Figures

GIB = 1 << 30
OFFICIAL = ("java", "official")  # the store alone, the broker
Side = Callable[[], list[Figures]]
Record = Callable[[str, str, int, Figures], None]


@dataclass
class Session:
    """One run of the bench: its programs, its directory, and how much of everything."""

    data: Path
    quick: bool
    rounds: int
    record: Record
    progress: Callable[[str], None]
    java_command: Callable[[], list[str]] = sides.java_command

    @functools.cached_property
    def engine(self) -> Path:
        """The engine's bench program, built when a case first needs it: linking takes minutes."""
        self.progress("building the engine's bench program")
        return sides.build_engine_bench()

    def amount(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def run(self, program: str, case: str, folder: str, **options: object) -> list[Figures]:
        """Run a case of one program on a folder of the data directory."""
        start = {"java": self.java_command, "engine": self.engine_command, "python": sides.python_command}
        return sides.run([*start[program](), *self.words(case, folder, options)])

    def engine_command(self) -> list[str]:
        return [str(self.engine)]

    def words(self, case: str, folder: str, options: dict[str, object]) -> list[str]:
        words = [case, str(self.data / folder)]
        for name, value in options.items():
            words.append(f"--{name.replace('_', '-')}")
            if value is not True:
                words.append(str(value))
        return words

    def alternate(
        self, case: str, turns: dict[str, Side], clean: tuple[str, ...] = (), *, many_pages: bool = True
    ) -> None:
        """Let the sides take turns, round after round, each round beginning with another side."""
        order = list(turns)
        for turn in range(self.rounds):
            for at in range(len(order)):
                name = order[(turn + at) % len(order)]
                self.progress(f"{case}: {name}, round {turn + 1} of {self.rounds}")
                if many_pages:
                    ballast.fill(self.data)
                try:
                    for figures in turns[name]():
                        self.record(case, name, turn + 1, figures)
                except BenchError as error:
                    if name not in OFFICIAL or isinstance(error, DifferentWork):
                        raise
                    # That the official one cannot do it is a result.
                    self.record(case, name, turn + 1, {"failed": str(error)})
                finally:
                    self.retire(clean)

    def retire(self, folders: tuple[str, ...]) -> None:
        """Keep what a turn wrote until the next one has run: removed at once, it would leave memory free."""
        spent = self.data / "spent"
        sides.remove(spent)
        spent.mkdir()
        for folder in folders:
            if (self.data / folder).exists():
                (self.data / folder).rename(spent / folder)
        if shutil.disk_usage(self.data).free < ballast.DISK_BYTES_LEFT:
            sides.remove(spent)
        os.sync()


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    gib: int  # of disk, at most, at one time
    run: Callable[[Session, "Case"], None]
    body: int = 0
    queues: int = 0


def append(session: Session, case: Case) -> None:
    small = case.body <= 128
    counts = {
        "body": case.body,
        "count": session.amount(5_000_000 if small else 2_000_000, 50_000),
        "warmup_count": session.amount(2_000_000 if small else 1_000_000, 20_000),
    }
    python = {**counts, "count": session.amount(1_000_000, 20_000), "warmup_count": 10_000}
    turns: dict[str, Side] = {
        "java": lambda: session.run("java", "append", "store", **counts),
        "tailfin": lambda: session.run("engine", "append", "store", **counts),
        "limit": lambda: session.run("engine", "memcpy", "store", body=case.body, count=counts["count"]),
        "python": lambda: session.run("python", "append", "store", **python),
    }
    session.alternate(case.name, turns, clean=("store",))


def batch(session: Session, case: Case) -> None:
    small = case.body <= 128
    counts = {
        "body": case.body,
        "batch": 32,
        "count": session.amount(9_600_000 if small else 3_200_000, 64_000),
        "warmup_count": session.amount(3_200_000 if small else 1_600_000, 32_000),
    }
    python = {"body": case.body, "count": session.amount(1_600_000, 32_000), "warmup_count": 32_000}
    turns: dict[str, Side] = {
        "java": lambda: session.run("java", "batch", "store", **counts),
        "tailfin": lambda: session.run("engine", "batch", "store", **counts),
        "python": lambda: session.run("python", "batch", "store", **python),
    }
    session.alternate(case.name, turns, clean=("store",))


def sync_flush(session: Session, case: Case) -> None:
    counts = {
        "body": case.body,
        "threads": 64,
        "count": session.amount(1_000_000, 5_000),
        "warmup_count": session.amount(500_000, 2_000),
    }
    turns: dict[str, Side] = {
        "java": lambda: session.run("java", "syncflush", "store", **counts),
        "tailfin": lambda: session.run("engine", "syncflush", "store", **counts),
        "limit": lambda: session.run("engine", "fdatasync", "store", count=session.amount(5000, 200)),
    }
    session.alternate(case.name, turns, clean=("store",))


def read(session: Session, case: Case) -> None:
    """Let each side read what it wrote: what reading costs depends on how the pages of a file were made."""
    count = session.amount(5_000_000, 50_000)
    session.progress(f"{case.name}: writing {count:,} messages, each side its own")
    session.run("java", "append", "java", body=case.body, count=count, warmup_count=0, keep=True)
    session.run("engine", "fill", "tailfin", body=case.body, count=count)

    def checked(program: str, folder: str) -> list[Figures]:
        lines = session.run(program, "read", folder, runs=2)
        if any(line["messages"] != count for line in lines):
            raise DifferentWork(f"{program} read {[line['messages'] for line in lines]} of {count} messages")
        return lines

    turns: dict[str, Side] = {
        "java": lambda: checked("java", "java"),
        "tailfin": lambda: checked("engine", "tailfin"),
        "limit": lambda: session.run("engine", "walk", "tailfin"),
        "python": lambda: checked("python", "tailfin"),
    }
    try:
        session.alternate(case.name, turns)
    finally:
        sides.remove(session.data / "java")
        sides.remove(session.data / "tailfin")


def recover(session: Session, case: Case) -> None:
    """Open the same bytes on both sides: left by a kill, by a close, and without queues and index."""
    log_bytes = session.amount(4 * GIB, GIB // 8)
    options: dict[str, object] = {"body": case.body, "bytes": log_bytes}
    try:
        session.progress(f"{case.name}: writing {log_bytes / GIB:g} GiB, then kill -9")
        words = session.words("fill", "killed", {**options, "hang": True})
        sides.fill_until_killed([str(session.engine), *words])
        _recover_state(session, f"{case.name}-kill", "killed", log_bytes)
        for derived in ("consumequeue", "index"):
            shutil.rmtree(session.data / "killed" / derived)
        (session.data / "killed/checkpoint").unlink()
        _recover_state(session, f"{case.name}-rebuild", "killed", log_bytes)
        sides.remove(session.data / "killed")
        session.progress(f"{case.name}: writing {log_bytes / GIB:g} GiB, then an orderly close")
        session.run("engine", "fill", "closed", **options)
        _recover_state(session, f"{case.name}-clean", "closed", log_bytes, own_close=True)
        _recover_state(session, f"{case.name}-copied", "closed", log_bytes)
    finally:
        sides.remove(session.data / "killed")
        sides.remove(session.data / "closed")


def _recover_state(
    session: Session, case: str, folder: str, log_bytes: int, *, own_close: bool = False
) -> None:
    """Let the sides open copies of a folder, with `own_close` after each has opened and closed it once."""
    ends: set[int] = set()

    def opened(program: str) -> list[Figures]:
        _clone(session.data / folder, session.data / "copy", log_bytes)
        if own_close:
            session.run(program, "recover", "copy")
        return _same_end(ends, session.run(program, "recover", "copy"))

    turns: dict[str, Side] = {"java": lambda: opened("java"), "tailfin": lambda: opened("engine")}
    session.alternate(case, turns, clean=("copy",))


def _same_end(ends: set[int], lines: list[Figures]) -> list[Figures]:
    """Make sure that all sides opened the same log: a side that opened another one looks fast."""
    ends.update(line["maxPhysicalOffset"] for line in lines)
    if len(ends) != 1 or 0 in ends:
        raise DifferentWork(f"the sides opened logs with different ends: {sorted(ends)}")
    return lines


def _clone(source: Path, copy: Path, log_bytes: int) -> None:
    """Copy a store. Log files that no recovery changes are linked: the same pages of the cache for all."""
    copy.mkdir()
    (copy / "commitlog").mkdir()
    for path in sorted(source.iterdir()):
        if path.name != "commitlog":
            _copy(path, copy)
    for path in sorted((source / "commitlog").iterdir()):
        if int(path.name) + path.stat().st_size <= log_bytes:
            (copy / "commitlog" / path.name).hardlink_to(path)
        else:
            _copy(path, copy / "commitlog")
    os.sync()


def _copy(path: Path, to: Path) -> None:
    """Copy a file or folder into the folder `to`, or as `to` when that does not exist."""
    subprocess.run(["cp", "-a", "--sparse=always", str(path), str(to)], check=True)


def queues(session: Session, case: Case) -> None:
    count = min(case.queues, session.amount(case.queues, case.queues // 50))
    ends: set[int] = set()

    def opened(program: str, bench: str, folder: str, **options: object) -> list[Figures]:
        return _same_end(ends, session.run(program, bench, folder, **options))

    turns: dict[str, Side] = {"tailfin": lambda: opened("engine", "open-queues", "store", queues=count)}
    try:
        session.progress(f"{case.name}: making {count:,} queues")
        for figures in session.run("engine", "make-queues", "store", queues=count):
            session.record(case.name, "tailfin", 0, figures)
        if case.queues <= 10_000:  # beyond, the official store runs out of descriptors
            _copy(session.data / "store", session.data / "copy")
            turns["java"] = lambda: opened("java", "recover", "copy")
        session.alternate(case.name, turns)
    finally:
        sides.remove(session.data / "store")
        sides.remove(session.data / "copy")


def large(session: Session, case: Case) -> None:
    gib = "0.25" if session.quick else "20"
    counts = {
        "body": case.body,
        "gib": gib,
        "count": session.amount(1_000_000, 20_000),
        "reads": session.amount(400_000, 5_000),
        "runs": session.amount(5, 2),
    }
    session.progress(f"{case.name}: an empty store, then {gib} GiB of it")
    try:
        for figures in session.run("engine", "large", "store", **counts):
            session.record(case.name, "tailfin", 1, figures)
    finally:
        sides.remove(session.data / "store")


STORE_CASES = (
    Case("append-128", "one writer, 8 queues, 128 B", 6, append, body=128),
    Case("append-1k", "one writer, 8 queues, 1 KiB", 9, append, body=1024),
    Case("batch-128", "batches of 32 x 128 B", 9, batch, body=128),
    Case("batch-1k", "batches of 32 x 1 KiB", 12, batch, body=1024),
    Case("syncflush", "64 writers, each waiting for the disk", 4, sync_flush, body=128),
    Case("read", "5,000,000 messages of 128 B, 32 a call", 5, read, body=128),
    Case("recover", "opening 4 GiB of log", 14, recover, body=128),
    Case("queues-10000", "opening 10,000 queues", 4, queues, queues=10_000),
    Case("queues-100000", "opening 100,000 queues", 5, queues, queues=100_000),
    Case("large", "costs at 20 GiB beside an empty store", 30, large, body=128),
)
