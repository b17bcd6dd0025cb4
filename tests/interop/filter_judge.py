"""The official filter, asked about expressions through one virtual machine for all questions."""

import base64
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import pytest

from tailfin.message import BadExpression, SqlFilter
from tests.interop.official import JVM, PROGRAMS

REFUSED = "refused"
Properties = Mapping[str, str]


class OfficialFilter:
    """What `rocketmq-filter` says."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers

    def judge(self, expression: str, sets: Iterable[Properties]) -> str:
        """Return `refused`, or a letter for each set of properties: T, F, N (null), E (fails)."""
        return self._ask("judge", _word(expression.encode()), *(_word(text_of(each)) for each in sets))

    def bloom(self, error_percent: int, entries: int, text: str) -> tuple[int, list[int]]:
        """Return the number of bits, and those of a text."""
        bits, _, positions = self._ask(
            "bloom", str(error_percent), str(entries), _word(text.encode())
        ).partition(" ")
        return int(bits), [int(position) for position in positions.strip("[]").split(", ")]

    def _ask(self, *words: str) -> str:
        self._questions.write("\t".join(words) + "\n")
        self._questions.flush()
        return self._answers.readline().rstrip("\n")


def judge(expression: str, sets: Iterable[Properties]) -> str:
    """Say the same of Tailfin's filter."""
    try:
        compiled = SqlFilter(expression)
    except BadExpression:
        return REFUSED
    return "".join(_letter(compiled, text_of(each)) for each in sets)


def _letter(compiled: SqlFilter, text: bytes) -> str:
    try:
        result = compiled.evaluate(text)
    except ValueError:
        return "E"
    return {True: "T", False: "F", None: "N"}[result]


def text_of(properties: Properties) -> bytes:
    """Write properties as a record holds them."""
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items()).encode()


def _word(data: bytes) -> str:
    return base64.b64encode(data).decode()


@contextmanager
def official() -> Iterator[OfficialFilter]:
    """Run the official filter until the block ends."""
    java = shutil.which("java")
    if java is None or not (PROGRAMS / "classes" / "tailfin" / "FilterJudge.class").is_file():
        pytest.fail("the Java programs are not there: run `make peers`", pytrace=False)
    command = [java, *JVM, "-cp", f"{PROGRAMS}/classes:{PROGRAMS}/lib/*", "tailfin.FilterJudge"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as machine:
        assert machine.stdin is not None
        assert machine.stdout is not None
        try:
            yield OfficialFilter(machine.stdin, machine.stdout)
        finally:
            machine.stdin.close()
            machine.wait(30)
