"""Queries, looked at without Spark: words, what is plainly no SQL, and which views are read.

Spark alone knows its grammar; what is found here is found before Spark starts, and is always wrong.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tailfin.pipeline.problems import nearest

BEGINNINGS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>\d[\w.]*)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {"'": "text", '"': "text", "`": "name"}
_BRACKETS = {")": "(", "]": "["}
_CLAUSES = frozenset({"FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION"})
_FUNCTIONS_WITH_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})
_NO_ALIAS = frozenset(
    {
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "NATURAL",
        "ON",
        "USING",
        "WINDOW",
        "LATERAL",
        "PIVOT",
        "UNPIVOT",
        "TABLESAMPLE",
        "ANTI",
        "SEMI",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "OFFSET",
        "QUALIFY",
        "SELECT",
    }
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, name, text or sign of a query; line and column count from 1."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def word(self) -> str:
        """Its text as a keyword is compared; empty when it cannot be one."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str | None:
        """Its text as a name; None when it cannot be one."""
        if self.kind == "quoted":
            return self.text[1:-1].replace("``", "`")
        return self.text if self.kind == "word" else None


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something that is no SQL, and where."""

    line: int
    column: int
    text: str


def tokens(sql: str) -> list[Token]:
    """Cut a query into what it is made of, without comments."""
    found, line, start = [], 1, 0
    for match in _TOKEN.finditer(sql):
        kind, text = str(match.lastgroup), match[0]
        if kind != "space":
            found.append(Token(kind, text, line, match.start() - start + 1))
        if "\n" in text:
            line += text.count("\n")
            start = match.start() + text.rfind("\n") + 1
    return found


def mistakes(sql: str) -> list[Mistake]:
    """Return what is plainly no query."""
    found = tokens(sql)
    if not found:
        return [Mistake(1, 1, "the query is empty")]
    return [*_beginning(found[0]), *_signs(found), *_commas(found)]


def _beginning(first: Token) -> Iterator[Mistake]:
    if first.text != "(" and first.word not in BEGINNINGS:
        what = (
            f"a query begins with {', '.join(BEGINNINGS[:-1])} or {BEGINNINGS[-1]}, not with {first.text!r}"
        )
        yield Mistake(first.line, first.column, what + nearest(first.text, BEGINNINGS))


def _signs(found: Sequence[Token]) -> Iterator[Mistake]:
    open_ones: list[Token] = []
    for place, token in enumerate(found):
        if token.kind != "sign":
            continue
        if token.text in _UNCLOSED:
            yield Mistake(
                token.line, token.column, f"the {_UNCLOSED[token.text]} that begins here never ends"
            )
            return
        if token.text == "/" and place + 1 < len(found) and found[place + 1].text == "*":
            yield Mistake(token.line, token.column, "the comment that begins here never ends")
            return
        if token.text == ";" and place + 1 < len(found):
            yield Mistake(token.line, token.column, "a step is one query: nothing may follow the ';'")
        if token.text in "([":
            open_ones.append(token)
        elif token.text in _BRACKETS:
            if not open_ones or open_ones[-1].text != _BRACKETS[token.text]:
                yield Mistake(token.line, token.column, f"this {token.text!r} closes nothing")
                return
            open_ones.pop()
    for token in open_ones:
        yield Mistake(token.line, token.column, f"this {token.text!r} is never closed")


def _commas(found: Sequence[Token]) -> Iterator[Mistake]:
    for token, following in zip(found, [*found[1:], None], strict=True):
        if token.text == "," and (
            following is None or following.word in _CLAUSES or following.text in (")", ",", ";")
        ):
            before = "the end" if following is None else repr(following.text)
            yield Mistake(token.line, token.column, f"a comma before {before}")


@dataclass(frozen=True, slots=True)
class Read:
    """A view that a query reads, and where it names it."""

    name: str
    line: int
    column: int


def reads(sql: str) -> list[Read]:
    """Return the views that a query reads; names with a dot are tables of a catalog, and left out."""
    found = [each for each in tokens(sql) if each.text != ";"]
    own = _common_tables(found)
    return [
        Read(token.name or "", token.line, token.column)
        for token in _relations(found)
        if (token.name or "").lower() not in own
    ]


def _common_tables(found: Sequence[Token]) -> set[str]:
    """Return the names that WITH gives to queries of its own."""
    if not any(token.word == "WITH" for token in found):
        return set()
    own = set()
    for place, token in enumerate(found):
        if token.name is None or place == 0:
            continue
        after = place + 1
        if after < len(found) and found[after].text == "(":  # its columns
            after = _behind_bracket(found, after)
        if [each.word or each.text for each in found[after : after + 2]] == ["AS", "("]:
            own.add(token.name.lower())
    return own


def _behind_bracket(found: Sequence[Token], place: int) -> int:
    depth = 0
    for index in range(place, len(found)):
        depth += {"(": 1, ")": -1}.get(found[index].text, 0)
        if depth == 0:
            return index + 1
    return len(found)


def _relations(found: Sequence[Token]) -> Iterator[Token]:
    for place, token in enumerate(found):
        if token.word == "JOIN" or (token.word == "FROM" and not _is_argument(found, place)):
            yield from _listed(found, place + 1)
        elif token.word == "TABLE" and place == 0:
            yield from _listed(found, 1)


def _is_argument(found: Sequence[Token], place: int) -> bool:
    """Tell FROM inside `extract(year FROM time)` and `IS DISTINCT FROM` from that of a query."""
    if place >= 2 and found[place - 1].word == "DISTINCT" and found[place - 2].word in ("IS", "NOT"):
        return True
    depth = 0
    for index in range(place - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(found[index].text, 0)
        if depth < 0:
            return index > 0 and found[index - 1].word in _FUNCTIONS_WITH_FROM
    return False


def _listed(found: Sequence[Token], place: int) -> Iterator[Token]:
    """Yield the names of relations that begin at a place, joined by commas."""
    while place < len(found):
        token = found[place]
        if token.word in ("LATERAL", "STREAM") and place + 1 < len(found):
            place += 1
            continue
        if token.text == "(":
            place = _behind_bracket(found, place)
        elif token.name is None or token.word in ("VALUES", "SELECT"):
            return
        else:
            following = found[place + 1].text if place + 1 < len(found) else ""
            if following not in (".", "("):
                yield token
            place += 1
            while place + 1 < len(found) and found[place].text == ".":
                place += 2
            if place < len(found) and found[place].text == "(":
                place = _behind_bracket(found, place)
        place = _behind_alias(found, place)
        if place >= len(found) or found[place].text != ",":
            return
        place += 1


def _behind_alias(found: Sequence[Token], place: int) -> int:
    if place < len(found) and found[place].word == "AS":
        place += 1
    if place < len(found) and found[place].name is not None and found[place].word not in _NO_ALIAS:
        place += 1
    if place < len(found) and found[place].text == "(":
        place = _behind_bracket(found, place)
    return place
