"""A process that forks writers, which append and acknowledge until they are killed.

`python -m tests.crash.writer` imports everything once; each line on its standard input (a `Job` as JSON) then
costs a fork. Its standard output is one pipe for all: `pid N` from the parent, `ack …` from the writer, and
`ended N` when the writer is gone.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.crash import stores

REPOSITORY = Path(__file__).parents[2]
SETTINGS: dict[str, object] = {
    "mappedFileSizeCommitLog": 16_384,
    "mappedFileSizeConsumeQueue": 20 * 64,
    "maxHashSlotNum": 50,
    "maxIndexNum": 400,
    "flushIntervalCommitLog": 2,
    "flushIntervalConsumeQueue": 2,
    "flushConsumeQueueThoroughInterval": 5,
}


@dataclass(frozen=True)
class Job:
    """What one writer does."""

    root: str
    round: int
    seed: int
    flush: str = "ASYNC_FLUSH"

    @property
    def settings(self) -> dict[str, object]:
        return {**SETTINGS, "flushDiskType": self.flush}


def body(number: int, operation: int, index: int, count: int) -> bytes:
    """Return the body that tells which message it is, and whether it came alone."""
    name = f"{number}.{operation}.{index}/{count} "
    return name.encode() + random.Random(name).randbytes(operation * 37 % 300)


def key(number: int, operation: int, index: int) -> str:
    return f"{number}.{operation}.{index}"


def write(job: Job) -> None:
    """Append until killed; each acknowledgement is told as `ack topic queue offset operation count`."""
    rng = random.Random(job.seed)
    store = stores.open_engine(Path(job.root), **job.settings)
    os.write(1, b"open\n")
    operation = 0
    while True:
        operation += 1
        topic, queue_id = rng.choice(stores.TOPICS), rng.randrange(stores.QUEUES)
        count = rng.choice((1, 1, 1, 2, 5))
        if count == 1:
            name = key(job.round, operation, 0)
            appended = store.append(topic, body(job.round, operation, 0, 1), queue_id, keys=name, tags="T")
        else:
            entries = [
                (body(job.round, operation, index, count), {"KEYS": key(job.round, operation, index)})
                for index in range(count)
            ]
            appended = store.append_batch(topic, entries, queue_id)
        os.write(1, f"ack {topic} {queue_id} {appended.queue_offset} {operation} {count}\n".encode())
        if rng.random() < 0.02:
            store.flush_queues()


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                write(Job(**json.loads(line)))
            except BaseException as error:
                os.write(1, f"failed {type(error).__name__}: {error}\n".encode())
                os._exit(1)
        os.write(1, f"pid {pid}\n".encode())
        os.waitpid(pid, 0)
        os.write(1, f"ended {pid}\n".encode())


class Nursery:
    """The forking process, seen from the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def lines(self, job: Job) -> Iterator[str]:
        """Start a writer and yield what it says, until it is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            yield line.rstrip("\n")
            if line.startswith("ended "):
                return
        raise AssertionError("the process that forks writers is gone")


@contextmanager
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-m", __name__]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Nursery(process)
        finally:
            process.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    main()
