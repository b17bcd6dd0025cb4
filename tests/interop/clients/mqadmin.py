"""The official mqadmin, its commands run in one virtual machine."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.interop.clients import java_programs

LIVE_MESSAGES = 40


class Call(NamedTuple):
    """One command; one that never ends is stopped when it has printed `until`."""

    words: Sequence[str]
    until: str = ""


class MqAdmin:
    """A virtual machine that takes commands."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._numbers = map(str, itertools.count())

    def run(self, *words: str) -> str:
        """Run one command and return what it printed."""
        return self.run_together([Call(words)])[0]

    def run_together(self, calls: Sequence[Call]) -> list[str]:
        """Run commands at once, since each spends seconds on closing its client; return what each printed."""
        numbers = [self._start(call.until, *call.words) for call in calls]
        answers = {answer["number"]: answer["output"] for answer in (self._answer() for _ in numbers)}
        return [answers[number] for number in numbers]

    def live(self, namesrv: str, prefix: str) -> dict[str, Any]:
        """Start a consumer, and a producer that sends messages to it; they stay until the end."""
        self._start("", "@live", namesrv, prefix, str(LIVE_MESSAGES))
        return self._answer()

    def _start(self, *words: str) -> str:
        number = next(self._numbers)
        self._stdin.write("\t".join([number, *words]) + "\n")
        self._stdin.flush()
        return number

    def _answer(self) -> dict[str, Any]:
        line = self._stdout.readline()
        assert line, "mqadmin ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def running(home: Path) -> Iterator[MqAdmin]:
    """Run mqadmin until the block ends, its files under `home`."""
    line = java_programs.command("5.5.0", "tailfin.MqAdminRunner", home=home, heap="-Xmx512m")
    with (home / "errors").open("w") as errors:
        process = subprocess.Popen(
            line,
            cwd=home,
            env=os.environ | {"ROCKETMQ_HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield MqAdmin(process.stdin, process.stdout)
    finally:
        process.kill()
        process.communicate()
