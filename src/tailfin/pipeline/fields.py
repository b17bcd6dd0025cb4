"""Keys of a mapping, taken one by one; what nobody asked for is unknown."""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from tailfin import durations
from tailfin.pipeline.nodes import Listing, Node, Scalar, Table
from tailfin.pipeline.problems import Place, Problem, nearest

T = TypeVar("T")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Section:
    """A mapping of the file, read key by key.

    Args:
        table: the mapping.
        what: what it is, as problems name it.
        problems: where to add what is wrong.
    """

    def __init__(self, table: Table, what: str, problems: list[Problem]) -> None:
        self.place = table.place
        self.what = what
        self.problems = problems
        self._given = {key.text: (key, value) for key, value in table.entries}
        self._asked: set[str] = set()

    @property
    def keys(self) -> list[str]:
        """The keys that are given."""
        return list(self._given)

    def has(self, key: str) -> bool:
        """Tell whether a key is given."""
        self._asked.add(key)
        return key in self._given

    def place_of(self, key: str) -> Place:
        """Return the place of a key, or of the mapping when it is not given."""
        return self._given[key][0].place if key in self._given else self.place

    def problem(self, place: Place, text: str) -> None:
        """Add something that is wrong."""
        self.problems.append(Problem(place, text))

    def node(self, key: str) -> Node | None:
        """Return a key's value; None when it is not given or empty."""
        self._asked.add(key)
        value = self._given[key][1] if key in self._given else None
        if isinstance(value, Scalar) and value.kind == "null":
            self.problem(value.place, f"{key} of {self.what} is empty: give it a value, or leave it out")
            return None
        return value

    def scalar(self, key: str, wanted: str = "a text") -> Scalar | None:
        """Return a single value."""
        found = self.node(key)
        if found is None or isinstance(found, Scalar):
            return found
        self.problem(found.place, f"{key} of {self.what} is {wanted}, not a {_kind(found)}")
        return None

    def text(self, key: str, *, choices: Iterable[str] = ()) -> str | None:
        """Return a text."""
        found = self.scalar(key)
        if found is None:
            return None
        allowed = tuple(choices)
        if allowed and found.text not in allowed:
            what = f"{key} of {self.what} is one of {', '.join(allowed)}, not {found.text!r}"
            self.problem(found.place, what + nearest(found.text, allowed))
            return None
        return found.text

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a truth value."""
        found = self.scalar(key, "true or false")
        if found is None:
            return default
        if found.kind != "bool":
            self.problem(found.place, f"{key} of {self.what} is true or false, not {found.text!r}")
            return default
        return found.text.lower() in ("true", "yes", "on")

    def number(self, key: str, *, default: int) -> int:
        """Return a whole number above 0."""
        found = self.scalar(key, "a whole number")
        if found is None:
            return default
        if found.kind != "int" or not found.text.isdecimal() or int(found.text) == 0:
            what = f"{key} of {self.what} is a whole number above 0, not {found.text!r}"
            self.problem(found.place, what)
            return default
        return int(found.text)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; a single one stands for a list of one."""
        found = self.node(key)
        if found is None:
            return ()
        items = found.items if isinstance(found, Listing) else (found,)
        texts = []
        for item in items:
            if not isinstance(item, Scalar) or item.kind == "null":
                self.problem(item.place, f"{key} of {self.what} is a text or a list of texts")
            else:
                texts.append(item.text)
        if not items:
            self.problem(found.place, f"{key} of {self.what} is an empty list: name at least one")
        return tuple(texts)

    def duration(self, key: str) -> float | None:
        """Return a duration in seconds."""
        return self._parsed(key, durations.seconds)

    def moment(self, key: str) -> str | None:
        """Return `earliest`, `latest` or a time, as text."""
        return self._parsed(key, _moment)

    def _parsed(self, key: str, parse: Callable[[str], T]) -> T | None:
        found = self.scalar(key)
        if found is None:
            return None
        try:
            return parse(found.text)
        except ValueError as error:
            self.problem(found.place, f"{key} of {self.what}: {error}")
            return None

    def pairs(self, key: str) -> dict[str, str]:
        """Return a mapping of texts to texts."""
        found = self.node(key)
        if found is None:
            return {}
        if not isinstance(found, Table):
            self.problem(found.place, f"{key} of {self.what} is a mapping, not a {_kind(found)}")
            return {}
        pairs = {}
        for name, value in found.entries:
            if not isinstance(value, Scalar) or value.kind == "null":
                self.problem(value.place, f"{name.text} in {key} of {self.what} is a single value")
            else:
                pairs[name.text] = value.text.lower() if value.kind == "bool" else value.text
        return pairs

    def section(self, key: str, what: str) -> "Section | None":
        """Return a mapping below this one."""
        found = self.node(key)
        if found is None:
            return None
        if not isinstance(found, Table):
            self.problem(found.place, f"{key} is a mapping, not a {_kind(found)}")
            return None
        return Section(found, what, self.problems)

    def named(self, key: str) -> list[tuple[Scalar, Node]]:
        """Return the entries of a mapping of names, each of which can be the name of a view."""
        found = self.node(key)
        if found is None:
            return []
        if not isinstance(found, Table):
            self.problem(found.place, f"{key} is a mapping of names, not a {_kind(found)}")
            return []
        for name, _ in found.entries:
            if not NAME.fullmatch(name.text):
                what = f"{name.text!r} cannot be a name: use letters, digits and _, and begin with a letter"
                self.problem(name.place, what)
        return list(found.entries)

    def end(self, known: Iterable[str] = ()) -> None:
        """Complain of every key that was not asked for; `known` are others that could have been given."""
        names = self._asked | set(known)
        for key, _ in self._given.values():
            if key.text not in self._asked:
                if key.text in names:
                    what = f"{key.text!r} does not belong to {self.what}"
                    self.problem(key.place, what)
                else:
                    what = f"unknown key {key.text!r} in {self.what}" + nearest(key.text, names)
                    self.problem(key.place, what)


def _moment(text: str) -> str:
    if text in ("earliest", "latest") or text.isdecimal():
        return text
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no place in a topic: use earliest, latest, a time as 2026-01-31T12:00:00Z, "
            "or milliseconds since the epoch"
        ) from None
    return text


def _kind(node: Node) -> str:
    return "mapping" if isinstance(node, Table) else "list" if isinstance(node, Listing) else "single value"
