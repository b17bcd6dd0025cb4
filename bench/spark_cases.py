"""Spark's connectors, each on a server of its own kind: rows a second, and what a row costs.

A connector is measured by a small program in a process of its own (`bench/spark`), which starts Spark and
reads everything once before the clock runs. CPU is that of this process and of all that descend from it:
the driver, the JVM, and the Python workers.
"""

import contextlib
import os
import sys
from collections.abc import Iterator

from bench import client_servers, sides
from bench.broker_cases import measured, turns_of
from bench.cases import Case, Session, Side
from bench.client_cases import TOPIC, run_program
from bench.sides import Figures

SIDES = ("tailfin", "kafka", "ceiling")
RUNS = 2
SCRATCH = "spark"


def run_spark(
    session: Session, program: str, action: str, address: str, body: int, count: int
) -> list[Figures]:
    """Let a program do something; return its figures."""
    python, environment = sys.executable, dict(os.environ)
    if program == "kafka":
        python = str(client_servers.kafka_spark_python())
        jars = ",".join(map(str, client_servers.kafka_spark_jars()))
        environment["PYSPARK_SUBMIT_ARGS"] = f"--jars {jars} pyspark-shell"
    scratch = session.data / SCRATCH
    scratch.mkdir()
    options = {"body": body, "count": count, "runs": session.amount(RUNS, 1), "scratch": scratch}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    command = [python, "-m", f"bench.spark.{program}_program", action, address, TOPIC, *words]
    try:
        return sides.run(command, environment)
    finally:
        sides.remove(scratch)


@contextlib.contextmanager
def filled(session: Session, side: str, body: int, count: int) -> Iterator[str]:
    """Run the server of a side with so many messages in the topic; give its address."""
    if side == "ceiling":
        yield "nowhere"
        return
    with client_servers.running(side, session.data / side, TOPIC) as server:
        if side == "kafka" and count:
            run_program(session, side, "produce", server, body, count // 2)
        elif count:
            fill = {"mode": "send", "batch": 32, "count": count, "consumable": True}
            measured(server.broker, "fill", topic=TOPIC, body_bytes=body, **fill)
        yield server.address


def read(session: Session, case: Case) -> None:
    """Scan a topic, catch up with it as a stream, and scan it into Parquet files."""
    count = session.amount(5_000_000 if case.body <= 128 else 1_000_000, 16_000)

    def turn(side: str) -> list[Figures]:
        with filled(session, side, case.body, count) as address:
            return run_spark(session, side, "read", address, case.body, count)

    session.alternate(case.name, turns_of(turn, SIDES), clean=SIDES)


def write(session: Session, case: Case) -> None:
    """Write rows to a topic that is empty at first."""
    count = session.amount(2_000_000 if case.body <= 128 else 1_000_000, 16_000)

    def turn(side: str) -> list[Figures]:
        with filled(session, side, case.body, 0) as address:
            return run_spark(session, side, "write", address, case.body, count)

    session.alternate(case.name, turns_of(turn, SIDES), clean=SIDES)


def files(session: Session, case: Case) -> None:
    """Scan the files of a store without a broker, and Parquet files with the same rows."""
    count = session.amount(5_000_000 if case.body <= 128 else 1_000_000, 16_000)
    session.progress(f"{case.name}: writing {count:,} messages, and the same as Parquet")
    session.run("python", "fill", "store", body=case.body, count=count)

    def turn(action: str, folder: str) -> list[Figures]:
        return run_spark(session, "files", action, str(session.data / folder), case.body, count)

    try:
        turn("archive", "store")
        turns: dict[str, Side] = {
            "tailfin": lambda: turn("store", "store"),
            "parquet": lambda: turn("parquet", "store.parquet"),
        }
        session.alternate(case.name, turns)
    finally:
        sides.remove(session.data / "store")
        sides.remove(session.data / "store.parquet")


CASES = (
    Case("spark-read-128", "Spark reads 5,000,000 messages of 128 B", 6, read, body=128),
    Case("spark-read-1k", "Spark reads 1,000,000 messages of 1 KiB", 8, read, body=1024),
    Case("spark-write-128", "Spark writes 128 B", 6, write, body=128),
    Case("spark-write-1k", "Spark writes 1 KiB", 10, write, body=1024),
    Case("spark-files-128", "Spark reads store files of 128 B messages, and Parquet", 8, files, body=128),
    Case("spark-files-1k", "Spark reads store files of 1 KiB messages, and Parquet", 8, files, body=1024),
)
