"""Copies of a topic by a driver that is killed again and again, or whose workers are.

`TAILFIN_SPARK_KILLS` says how often; `make crash-spark` does it thirty times.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

import tailfin
from tailfin.testing import Cluster, cluster, until
from tests.spark import homes
from tests.spark.sinking import visible

KILLS = int(os.environ.get("TAILFIN_SPARK_KILLS", "3"))
SEED = int(os.environ.get("TAILFIN_SPARK_SEED", "0")) or random.SystemRandom().getrandbits(32)
ALIVE_S = 5.0
START_S = 300.0
END_S = 600.0
ROOT = Path(__file__).parents[2]


class Driver:
    """The program in a session of its own, with everything it starts."""

    def __init__(self, running: Cluster, home: Path, spark_home: Path, number: int) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(spark_home),
        }
        self._output = home / f"output-{number}"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.spark.copy_program",
                    running.namesrv,
                    "Source",
                    "Copy",
                    str(home),
                ],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.output()[-4000:]
        return "READY" in self.output()

    def kill(self) -> None:
        """Kill the driver, and the virtual machine it runs in."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_worker(self, chance: random.Random) -> bool:
        """Kill one of the Python processes that work for it; False when there is none."""
        workers = sorted(self._workers())
        if not workers:
            return False
        kill(chance.choice(workers))
        return True

    def _workers(self) -> Iterator[int]:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == self.process.pid:
                continue
            try:
                session = os.getsid(int(entry.name))
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if session == self.process.pid and b"python" in command and b"java" not in command:
                yield int(entry.name)

    def end(self) -> None:
        """Let nothing of it live on."""
        if self.process.poll() is None:
            self.kill()
        for worker in list(self._workers()):
            kill(worker)


def kill(process: int) -> None:
    """Kill a process, which may be gone."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@contextmanager
def messages_all_the_time(running: Cluster) -> Iterator[list[str]]:
    """Send messages until the end of the block; the list has those that are stored."""
    sent: list[str] = []
    over = threading.Event()

    def send() -> None:
        with tailfin.Producer("source", nameserver=running.namesrv) as producer:
            while not over.wait(0.1):
                batch = [f"row {len(sent) + number}" for number in range(10)]
                receipts = [producer.send_soon(tailfin.Message("Source", body.encode())) for body in batch]
                for receipt in receipts:
                    receipt.result()
                sent.extend(batch)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


@pytest.mark.timeout(60 * (KILLS + 20))
def test_copies_have_every_message_once_whatever_is_killed(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    print(f"TAILFIN_SPARK_SEED={SEED}")
    drivers: list[Driver] = []
    spark_home = homes.unzipped(Path(pyspark.__file__).parent, tmp_path / "spark")

    def start() -> Driver:
        drivers.append(Driver(running, tmp_path, spark_home, len(drivers)))
        until(drivers[-1].is_ready, START_S)
        return drivers[-1]

    with cluster() as running:
        with tailfin.AdminClient(nameserver=running.namesrv) as admin:
            for topic in ("Source", "Copy"):
                admin.topics.create(topic, queues=4)
        try:
            with messages_all_the_time(running) as sent:
                driver = start()
                for _ in range(KILLS):
                    # The moment is what is tried, so it is nobody's signal.
                    threading.Event().wait(chance.random() * ALIVE_S)
                    if chance.random() < 1 / 2 or not driver.kill_worker(chance):
                        driver.kill()
                        driver = start()
            (tmp_path / "stop").touch()
            driver.process.wait(END_S)
            assert (tmp_path / "rows").exists(), driver.output()[-4000:]
        finally:
            for each in drivers:
                each.end()
        expected = Counter(sent)
        assert visible(running.namesrv, "Copy", len(sent)) == expected
        assert Counter(json.loads((tmp_path / "rows").read_text())) == expected
