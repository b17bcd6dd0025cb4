"""The official Java client as a partner: one virtual machine that sends and consumes as it is told."""

import itertools
import json
import queue
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crash.waiting import wait_until
from tests.interop.clients import java_programs
from tests.interop.clients.java_client import Saw

PATIENCE_S = 30.0


class Puppet:
    """A running Java client; what its consumers received stands in `received`, by the consumer's name."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.received: dict[str, list[Saw]] = defaultdict(list)
        self._process = process
        self._errors = errors
        self._answers: queue.Queue[Saw | None] = queue.Queue()
        self._numbers = itertools.count(1)
        self._names = itertools.count(1)
        self._reader = threading.Thread(target=self._read, name="puppet")
        self._reader.start()

    def ask(self, *words: object) -> Saw:
        """Give an order, and return what came of it."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(map(str, (number, *words))) + "\n")
        self._process.stdin.flush()
        answer = self._answers.get(timeout=PATIENCE_S)
        assert answer is not None, f"the Java client ended:\n{self._errors.read_text()[-4000:]}"
        assert answer["order"] == number
        assert "error" not in answer, answer["error"]
        return answer

    def send(self, kind: str, topic: str, count: int) -> list[Saw]:
        """Send numbered messages; return what was sent."""
        sent: list[Saw] = self.ask("send", kind, topic, count)["sent"]
        return sent

    @contextmanager
    def consumer(self, kind: str, group: str, topic: str, expression: str = "*") -> Iterator[str]:
        """Run a consumer; the block gets its name."""
        name = f"consumer-{next(self._names)}"
        self.ask("consume", name, kind, group, topic, expression)
        try:
            yield name
        finally:
            self.ask("stop", name)

    def wait_received(self, name: str, count: int) -> list[Saw]:
        """Wait until a consumer has received so many messages, and return them."""
        received = self.received[name]
        wait_until(lambda: len(received) >= count, f"{count} messages at {name}", PATIENCE_S)
        return received

    def end(self) -> None:
        """Let it come to its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._reader.join(PATIENCE_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            saw: Saw = json.loads(line)
            if "order" in saw:
                self._answers.put(saw)
            else:
                self.received[saw["consumer"]].append(saw["message"])
        self._answers.put(None)


@contextmanager
def running(version: str, namesrv: str, home: Path) -> Iterator[Puppet]:
    """Run a version of the Java client against a cluster."""
    command = java_programs.command(version, "tailfin.Puppet", namesrv, f"puppet{version[0]}", home=home)
    errors = home / "errors"
    with (
        errors.open("wb") as output,
        subprocess.Popen(
            command, cwd=home, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output
        ) as process,
    ):
        puppet = Puppet(process, errors)
        try:
            yield puppet
        finally:
            process.kill()
            puppet.end()
