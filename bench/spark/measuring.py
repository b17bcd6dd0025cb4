"""What the programs of all sides share: their arguments, the session, the clock, and the lines they print.

Neither this nor `connector` imports anything else of this repository: a peer runs on a Spark of its own.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

CORES = 2
HEAP = "4g"
LOOPBACK = "127.0.0.1"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Wanted:
    """What a program is asked to do."""

    action: str
    address: str
    topic: str
    body: int
    count: int
    runs: int
    scratch: Path


def wanted(*actions: str) -> Wanted:
    """Read the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=actions)
    parser.add_argument("address", help="of the server, or the folder that is read")
    parser.add_argument("topic")
    parser.add_argument("--body", type=int, required=True, help="bytes of a message")
    parser.add_argument("--count", type=int, required=True, help="rows that each run has to move")
    parser.add_argument("--runs", type=int, required=True, help="how often each thing is measured")
    parser.add_argument("--scratch", type=Path, required=True, help="a folder for what is written")
    return Wanted(**vars(parser.parse_args()))


@contextlib.contextmanager
def session(asked: Wanted, **settings: str) -> Iterator[SparkSession]:
    """Start Spark in this process, with as many cores and as much memory on every side."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    common = {
        "spark.driver.memory": HEAP,
        "spark.driver.host": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(asked.scratch / "local"),
        "spark.sql.warehouse.dir": str(asked.scratch / "warehouse"),
    }
    for name, value in (common | settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def nowhere(frame: DataFrame) -> None:
    """Make every row and drop it."""
    frame.write.format("noop").mode("overwrite").save()


def check(frame: DataFrame, body: str, size: int, count: int) -> None:
    """Make sure that a table has so many rows, each with a body of that size; it warms up as well."""
    (found,) = frame.selectExpr("count(*)", f"sum(length({body}))").collect()
    if tuple(found) != (count, count * size):
        raise SystemExit(f"{found[0]} rows with {found[1]} bytes instead of {count} with {count * size}")


def measure(name: str, asked: Wanted, work: Callable[[], None]) -> None:
    """Run the work; print its rate, and the CPU of this process and of all that descend from it."""
    wall, cpu = time.perf_counter(), tree_cpu_seconds(os.getpid())
    work()
    seconds, cpu_seconds = time.perf_counter() - wall, tree_cpu_seconds(os.getpid()) - cpu
    figures = {
        "bench": name,
        "body": asked.body,
        "messages": asked.count,
        "seconds": seconds,
        "perSecond": asked.count / seconds,
        "cpuSecondsPerMillion": cpu_seconds / asked.count * 1e6,
    }
    print(json.dumps(figures), flush=True)


def tree_cpu_seconds(root: int) -> float:
    """Return what a process and its descendants used, those included that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid] = int(fields[1])
            # Of the process itself and of children it waited for, in user and kernel mode.
            ticks[pid] = sum(map(int, fields[11:15]))

    def belongs(pid: int) -> bool:
        while pid not in (root, 0):
            pid = parents.get(pid, 0)
        return pid == root

    return sum(used for pid, used in ticks.items() if belongs(pid)) / TICKS
