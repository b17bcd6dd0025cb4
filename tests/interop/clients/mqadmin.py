"""The official mqadmin, its commands run one after the other in one virtual machine."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.interop.clients import java_programs

LIVE_MESSAGES = 40


class Printed(NamedTuple):
    """What a command printed, and whether it ended by itself."""

    output: str
    ended: bool


class MqAdmin:
    """A virtual machine that takes one command after the other."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin, self._stdout = stdin, stdout

    def run(self, *words: str, until: str = "") -> Printed:
        """Run one command; one that never ends is stopped when it has printed `until`."""
        answer = self._ask(until, *words)
        return Printed(answer["output"], answer["ended"])

    def live(self, namesrv: str, prefix: str) -> dict[str, Any]:
        """Start a consumer, and a producer that sends messages to it; they stay until the end."""
        return self._ask("", "@live", namesrv, prefix, str(LIVE_MESSAGES))

    def _ask(self, *words: str) -> dict[str, Any]:
        self._stdin.write("\t".join(words) + "\n")
        self._stdin.flush()
        line = self._stdout.readline()
        assert line, f"mqadmin ended at {words}"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def running(home: Path) -> Iterator[MqAdmin]:
    """Run mqadmin until the block ends, its files under `home`."""
    line = java_programs.command("5.5.0", "tailfin.MqAdminRunner", home=home)
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
