"""YAML as a tree whose every node knows its place; the one module that names PyYAML."""

from dataclasses import dataclass
from typing import Any, Literal

from tailfin.config.setting import ConfigError
from tailfin.pipeline.problems import PipelineError, Place, Problem

Kind = Literal["text", "bool", "int", "float", "null"]
_KINDS: dict[str, Kind] = {"bool": "bool", "int": "int", "float": "float", "null": "null"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number or truth value as it stands in the file.

    Attributes:
        place: where it begins.
        text: its text.
        kind: what YAML takes it for.
        content: where its first character stands, in a text whose lines stand in the file as they are;
            None when YAML folds them.
    """

    place: Place
    text: str
    kind: Kind
    content: Place | None

    def place_of(self, line: int, column: int) -> Place:
        """Return the place of a character of the text; both count from 1."""
        if self.content is None:
            return self.place
        # Only the first line of a block begins behind its indentation; YAML cuts it from all of them.
        return Place(self.content.file, self.content.line + line - 1, self.content.column + column - 1)


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence."""

    place: Place
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping; keys are texts."""

    place: Place
    entries: tuple[tuple[Scalar, "Node"], ...]


Node = Scalar | Listing | Table


def read(file: str, text: str, problems: list[Problem]) -> Node | None:
    """Read YAML; what can be said of its form alone is added to `problems`.

    Raises:
        PipelineError: it is no YAML.
        ConfigError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise ConfigError("pipelines need PyYAML: pip install 'tailfin[spark]'") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file, 1, 1)
        what = ", ".join(each for each in (error.context, error.problem) if each)
        raise PipelineError([Problem(place, f"this is no YAML: {what}")]) from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise PipelineError([Problem(Place(file, 1, 1), f"this is no YAML: {what}")]) from None
    return None if root is None else _Converting(file, text.splitlines(), problems).node(root)


class _Converting:
    """Turns PyYAML's nodes into ours."""

    def __init__(self, file: str, lines: list[str], problems: list[Problem]) -> None:
        self._file = file
        self._lines = lines
        self._problems = problems

    def node(self, found: Any) -> Node:  # noqa: ANN401  # PyYAML is untyped
        place = Place(self._file, found.start_mark.line + 1, found.start_mark.column + 1)
        if found.id == "scalar":
            kind = _KINDS.get(found.tag.rpartition(":")[2], "text")
            return Scalar(place, found.value, kind, self._content(found, place))
        if found.id == "sequence":
            return Listing(place, tuple(self.node(each) for each in found.value))
        entries: dict[str, tuple[Scalar, Node]] = {}
        for key, value in found.value:
            name = self.node(key)
            if not isinstance(name, Scalar):
                self._problems.append(Problem(name.place, "a key is a word, not a list or mapping"))
            elif name.text in entries:
                first = entries[name.text][0].place.line
                what = f"{name.text!r} is given twice; the first time in line {first}"
                self._problems.append(Problem(name.place, what))
            else:
                entries[name.text] = (name, self.node(value))
        return Table(place, tuple(entries.values()))

    def _content(self, found: Any, place: Place) -> Place | None:  # noqa: ANN401
        if found.style == "|":
            below = self._lines[place.line :]
            for number, line in enumerate(below):
                if line.strip():
                    return Place(self._file, place.line + 1 + number, len(line) - len(line.lstrip()) + 1)
            return None
        if found.start_mark.line != found.end_mark.line:
            return None
        return Place(self._file, place.line, place.column + (1 if found.style else 0))
