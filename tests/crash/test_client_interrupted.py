"""Ctrl-C in the middle: the program ends soon, nothing acknowledged is lost, nothing consumed comes again."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tailfin
from tailfin.testing import Cluster, cluster, until

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0
TOPIC = "interrupted"
MESSAGES = 2000


@pytest.fixture
def running() -> Iterator[Cluster]:
    with cluster() as running:
        with tailfin.AdminClient(nameserver=running.namesrv) as admin:
            admin.topics.create(TOPIC, queues=4)
        yield running


@contextmanager
def program(kind: str, running: Cluster) -> Iterator["Program"]:
    command = [sys.executable, "-m", "tests.crash.client_program", kind, running.namesrv, TOPIC]
    with (
        tempfile.NamedTemporaryFile("w+") as output,
        subprocess.Popen(command, cwd=ROOT, text=True, stdout=output, stderr=subprocess.PIPE) as process,
    ):
        try:
            yield Program(process, Path(output.name))
        finally:
            process.kill()


class Program:
    """A program that runs, and the lines it printed."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self._process = process
        self._output = output

    def lines(self) -> list[str]:
        return self._output.read_text().split()

    def wait_for_lines(self, count: int) -> None:
        def enough() -> bool:
            return len(self.lines()) >= count or self._process.poll() is not None

        until(enough, PATIENCE_S)

    def interrupt(self) -> list[str]:
        """Press Ctrl-C, wait for the end, and return all lines before it."""
        self._process.send_signal(signal.SIGINT)
        # Longer than any stop takes; a program that hangs is killed, and has failed.
        _, errors = self._process.communicate(timeout=PATIENCE_S)
        assert (self._process.returncode, "Traceback" in errors) == (0, False), errors
        *lines, last = self.lines()
        assert last == "interrupted"
        return lines


def stored(running: Cluster) -> set[str]:
    found = set[str]()
    with tailfin.PullConsumer("readers", nameserver=running.namesrv) as reader:
        for queue in reader.queues(TOPIC):
            offset = 0
            while (result := reader.pull(queue, offset)).messages:
                found |= {message.body.decode() for message in result.messages}
                offset = result.next_offset
    return found


def fill(running: Cluster, begin: int, count: int) -> set[str]:
    bodies = {str(number) for number in range(begin, begin + count)}
    with tailfin.Producer("fillers", nameserver=running.namesrv) as producer:
        for receipt in [producer.send_soon(tailfin.Message(TOPIC, body.encode())) for body in bodies]:
            receipt.result()
    return bodies


@pytest.mark.parametrize("kind", ["produce", "produce-in-a-loop", "produce-soon"])
def test_what_was_acknowledged_is_stored(running: Cluster, kind: str) -> None:
    with program(kind, running) as sender:
        sender.wait_for_lines(20)
        lines = sender.interrupt()
    acknowledged = {line for line in lines if line.isdecimal()}
    assert acknowledged
    until(lambda: stored(running) >= acknowledged, PATIENCE_S)


@pytest.mark.parametrize("kind", ["consume", "consume-in-a-loop", "poll", "poll-in-a-loop"])
def test_nothing_comes_again_and_nothing_is_lost(running: Cluster, kind: str) -> None:
    sent = fill(running, 0, MESSAGES)
    with program(kind, running) as interrupted:
        interrupted.wait_for_lines(50)
        before = interrupted.interrupt()
    sent |= fill(running, MESSAGES, 10)
    with program(kind, running) as other:
        until(lambda: {*before, *other.lines()} >= sent, PATIENCE_S)
        after = other.interrupt()
    again = set(before) & set(after)
    # Ctrl-C may come into the middle of a loop's body, which has told of its message and is not done.
    assert again <= ({before[-1]} if kind == "poll" else set())
    assert len(before) == len(set(before))
    assert len(after) == len(set(after))


def test_a_handler_that_never_ends_does_not_keep_the_program(running: Cluster) -> None:
    sent = fill(running, 0, 10)
    with program("consume-stuck", running) as stuck:
        stuck.wait_for_lines(1)
        stuck.interrupt()
    with program("consume", running) as other:
        until(lambda: set(other.lines()) == sent, PATIENCE_S)
