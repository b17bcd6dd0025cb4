"""What tests of pipelines share."""

import json
from typing import Any

import pytest

from tailfin.cli import main


class Tailfin:
    """`tailfin pipeline`, run in this process; Spark runs already."""

    def __init__(self, capsys: pytest.CaptureFixture[str], namesrv: str) -> None:
        self._capsys = capsys
        self._namesrv = namesrv

    def run(self, verb: str, *words: object, code: int = 0) -> str:
        """Run a command that ends with a code; return what it prints, or what it says on standard error."""
        where: list[str] = [] if verb == "audit" else ["-n", self._namesrv]
        self._capsys.readouterr()
        found = main(["pipeline", verb, *map(str, words), *where])
        printed = self._capsys.readouterr()
        assert found == code, printed.err + printed.out
        return printed.out if code == 0 else printed.out + printed.err

    def json(self, verb: str, *words: object, code: int = 0) -> Any:  # noqa: ANN401  # whatever it prints
        """Run a command with --json."""
        return json.loads(self.run(verb, *words, "--json", code=code))
