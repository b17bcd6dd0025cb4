"""Say which rows of conformance/rows.tsv are shown by which tests, in docs/conformance.md.

A Python test carries its rows as `@pytest.mark.shows("CL-22", "CL-23")`, on the function, its class or,
as `pytestmark`, the module. A Rust test carries them as `// shows: CL-22, CL-23` above its attributes.
A row nobody knows, or a mark that stands on no test, is an error: a wrong number shows nothing.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = Path("conformance/rows.tsv")
REPORT = Path("docs/conformance.md")
PYTHON_TREES = ("tests",)
RUST_TREES = ("engine/src", "engine/tests", "tests")

RUST_MARK = re.compile(r"\s*//+\s*shows:\s*(.*)$")
RUST_FUNCTION = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+(\w+)")
RUST_TEST_ATTRIBUTE = re.compile(r"\s*#\[(?:\w+::)*test\b")


@dataclass(frozen=True, slots=True)
class Row:
    """One testable statement of the checklist."""

    number: str
    section: str
    statement: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A test's claim to show a row, and where it is made."""

    row: str
    test: str
    file: str
    line: int


class Misplaced(Exception):
    """A mark that cannot be read, or a rows file that cannot; the text names file and line."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")


def read_rows(text: str, file: str) -> list[Row]:
    """Read the rows in their order; comment lines and the heading are passed over."""
    rows: dict[str, Row] = {}
    for line, entry in enumerate(text.splitlines(), start=1):
        if not entry or entry.startswith(("#", "row\t")):
            continue
        match entry.split("\t"):
            case [number, section, statement] if number not in rows:
                rows[number] = Row(number, section, statement)
            case [number, _, _]:
                raise Misplaced(file, line, f"row {number} is there twice")
            case _:
                raise Misplaced(file, line, "a row has three fields: number, section, statement")
    return list(rows.values())


def python_marks(source: str, file: str) -> list[Mark]:
    """Find the `shows` marks of a Python file and the tests they stand on."""
    tree = ast.parse(source, filename=file)
    used: set[ast.Call] = set()
    marks = list(_marks_below(tree.body, file, prefix=file, inherited=_pytestmark(tree.body), used=used))
    for node in ast.walk(tree):
        if _is_shows(node) and node not in used:
            raise Misplaced(file, getattr(node, "lineno", 0), "this mark stands on no test")
    return marks


def _marks_below(
    body: list[ast.stmt], file: str, prefix: str, inherited: list[ast.Call], used: set[ast.Call]
) -> Iterator[Mark]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            own = _calls(node.decorator_list) + _pytestmark(node.body)
            yield from _marks_below(node.body, file, f"{prefix}::{node.name}", inherited + own, used)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            for call in inherited + _calls(node.decorator_list):
                used.add(call)
                for row in _arguments(call, file):
                    yield Mark(row, f"{prefix}::{node.name}", file, call.lineno)


def _pytestmark(body: list[ast.stmt]) -> list[ast.Call]:
    values: list[ast.expr] = []
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                values.append(value)
            case ast.AnnAssign(target=ast.Name(id="pytestmark"), value=ast.expr() as value):
                values.append(value)
    return _calls(values)


def _calls(expressions: Iterable[ast.expr]) -> list[ast.Call]:
    # Walked, not only looked at: a mark may sit in `pytest.param(…, marks=pytest.mark.shows("CL-22"))`.
    found = [node for expression in expressions for node in ast.walk(expression)]
    return [node for node in found if isinstance(node, ast.Call) and _is_shows(node)]


def _is_shows(node: ast.AST) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="shows", value=ast.Attribute(attr="mark") | ast.Name(id="mark"))
        ):
            return True
    return False


def _arguments(call: ast.Call, file: str) -> Iterator[str]:
    if call.keywords or not call.args:
        raise Misplaced(file, call.lineno, "shows takes row numbers and nothing else")
    for argument in call.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            raise Misplaced(file, argument.lineno, "a row number is written out as a string")
        yield argument.value


def rust_marks(source: str, file: str) -> list[Mark]:
    """Find the `// shows:` comments of a Rust file and the tests they stand above."""
    lines = source.splitlines()
    marks: list[Mark] = []
    for index, line in enumerate(lines):
        if not (found := RUST_MARK.match(line)):
            continue
        rows = [row for row in re.split(r"[,\s]+", found[1]) if row]
        if not rows:
            raise Misplaced(file, index + 1, "shows names no row")
        name = _rust_test_around(lines, index)
        if name is None:
            raise Misplaced(file, index + 1, "this mark stands on no test")
        marks += [Mark(row, f"{file}::{name}", file, index + 1) for row in rows]
    return marks


def _rust_test_around(lines: list[str], mark: int) -> str | None:
    """Return the name of the test whose comments and attributes the line `mark` is one of."""
    first = mark
    while first > 0 and lines[first - 1].lstrip().startswith(("//", "#[")):
        first -= 1
    is_test = False
    depth = 0  # of brackets: an attribute may take several lines
    for index in range(first, len(lines)):
        line = lines[index]
        if depth == 0 and (function := RUST_FUNCTION.match(line)):
            # A function inside `proptest!` may leave `#[test]` to a macro of its own.
            in_proptest = any("proptest!" in before for before in lines[:index])
            return function[1] if index > mark and (is_test or in_proptest) else None
        is_test = is_test or RUST_TEST_ATTRIBUTE.match(line) is not None
        if line.lstrip().startswith("//"):
            continue
        if depth == 0 and not line.lstrip().startswith("#["):
            return None
        depth += line.count("[") - line.count("]")
    return None


def collect(root: Path) -> list[Mark]:
    """Find every mark of the project."""
    marks: list[Mark] = []
    for trees, suffix, read in ((PYTHON_TREES, "*.py", python_marks), (RUST_TREES, "*.rs", rust_marks)):
        for tree in trees:
            for path in sorted((root / tree).rglob(suffix)):
                marks += read(path.read_text("utf-8"), path.relative_to(root).as_posix())
    return marks


def render(rows: list[Row], marks: list[Mark]) -> str:
    """Write the report: totals, one line a section, then every row with its tests."""
    tests: dict[str, set[str]] = defaultdict(set)
    for mark in marks:
        tests[mark.row].add(mark.test)
    shown = sum(row.number in tests for row in rows)
    sections = [(title, list(members)) for title, members in groupby(rows, key=lambda row: row.section)]
    out = [
        "# Conformance",
        "",
        "Written by `make conformance` from `conformance/rows.tsv` and the tests' marks; do not edit.",
        "",
        f"**{len(rows)} rows: {shown} shown by a test, {len(rows) - shown} by none.**",
        "",
        "| section | rows | shown | none |",
        "|---|--:|--:|--:|",
    ]
    for title, members in sections:
        have = sum(row.number in tests for row in members)
        prefix = members[0].number.partition("-")[0]
        out.append(f"| {prefix}: {title} | {len(members)} | {have} | {len(members) - have} |")
    for title, members in sections:
        out += ["", f"## {title}", "", "| row | statement | tests |", "|---|---|---|"]
        for row in members:
            names = "<br>".join(f"`{name}`" for name in sorted(tests[row.number])) or "—"
            out.append(f"| {row.number} | {_cell(row.statement)} | {names} |")
    return "\n".join(out) + "\n"


def _cell(statement: str) -> str:
    """Escape what a Markdown table or HTML would swallow; code spans keep their angle brackets."""
    parts = statement.replace("|", r"\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def main(argv: list[str] | None = None) -> int:
    """Write the report, or with `--check` only compare it; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the report is stale")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    root: Path = options.root
    try:
        rows = read_rows((root / ROWS).read_text("utf-8"), ROWS.as_posix())
        marks = collect(root)
    except Misplaced as problem:
        print(problem, file=sys.stderr)
        return 1
    known = {row.number for row in rows}
    strays = [mark for mark in marks if mark.row not in known]
    for mark in strays:
        print(f"{mark.file}:{mark.line}: no row {mark.row} in {ROWS}", file=sys.stderr)
    if strays:
        return 1
    report = render(rows, marks)
    path = root / REPORT
    if not options.check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, "utf-8")
        print(f"{REPORT}: {report.split('**')[1]}")
    elif not path.exists() or path.read_text("utf-8") != report:
        print(f"{REPORT} is stale: run `make conformance`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
