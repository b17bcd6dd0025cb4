"""What is wrong with a pipeline file, each thing with its place."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from tailfin.config.setting import ConfigError


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class PipelineError(ConfigError):
    """A pipeline that cannot run; `.problems` has all that is wrong, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for a word that is almost a known one, else nothing."""
    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), folded, 1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""
