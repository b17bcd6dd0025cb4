"""Results kept as JSON lines, and the tables made from them."""

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.broker_rows import BROKER_LIMIT, BROKER_ROWS, BROKER_SECTIONS
from bench.client_rows import CLIENT_ROWS, CLIENT_SECTIONS
from bench.delay_rows import DELAY_ROWS
from bench.rows import LIMIT, ROWS, SECTIONS, Pick, Row
from bench.spark_rows import SPARK_LIMIT, SPARK_ROWS, SPARK_SECTIONS

MARKS = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.DOTALL)
Result = dict[str, Any]


def append_result(folder: Path, result: Result) -> None:
    """Add one line to the day's file of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['date'][:10]}-{result['machineId']}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps(result, ensure_ascii=False) + "\n")


def newest(folder: Path) -> list[Result]:
    """Return the results of each case's newest run. All sides of a run were measured on one machine."""
    results = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.open()]
    last_run: dict[str, str] = {}
    for result in results:
        last_run[result["case"]] = max(result["run"], last_run.get(result["case"], ""))
    return [result for result in results if result["run"] == last_run[result["case"]]]


@dataclass(frozen=True)
class Value:
    """A figure over the rounds."""

    best: float
    median: float
    rounds: int


@dataclass(frozen=True)
class Comparison:
    row: Row
    figure: Value
    peer: Value | None
    peer_failed: bool

    @property
    def ratio(self) -> float | None:
        return self.figure.best / self.peer.best if self.peer and self.peer.best else None

    @property
    def median_ratio(self) -> float | None:
        return self.figure.median / self.peer.median if self.peer and self.peer.median else None

    @property
    def met(self) -> bool | None:
        if self.row.most is not None:
            return self.figure.best <= self.row.most
        if self.row.least is not None:
            return self.figure.best >= self.row.least
        if self.row.ratio_goal is None or self.ratio is None:
            return None
        if self.row.more_is_better:
            return self.ratio >= self.row.ratio_goal
        return self.ratio <= self.row.ratio_goal

    def as_json(self) -> dict[str, Any]:
        return {
            "section": self.row.section,
            "case": self.row.case,
            "title": self.row.title,
            "tailfin": vars(self.figure),
            "peer": vars(self.peer) if self.peer else None,
            "peerFailed": self.peer_failed,
            "ratio": self.ratio,
            "medianRatio": self.median_ratio,
            "ratioGoal": self.row.ratio_goal,
            "most": self.row.most,
            "least": self.row.least,
            "met": self.met,
        }


def compare(results: Sequence[Result]) -> list[Comparison]:
    """Put the figures of each row side by side; rows without a figure are left out."""
    found = []
    for row in (*BROKER_ROWS, *DELAY_ROWS, *CLIENT_ROWS, *SPARK_ROWS, *ROWS):
        mine = [result for result in results if result["case"] == row.case]
        figure = _value(mine, row.figure, row)
        if figure is not None:
            peer = _value(mine, row.peer, row) if row.peer else None
            failed = bool(
                row.peer and any("failed" in r["figures"] for r in mine if r["side"] == row.peer.side)
            )
            found.append(Comparison(row, figure, peer, failed))
    return found


def _value(results: Iterable[Result], pick: Pick, row: Row) -> Value | None:
    values = [
        result["figures"][pick.key]
        for result in results
        if result["side"] == pick.side
        and result["figures"].get("bench") == pick.bench
        and pick.key in result["figures"]
        and pick.where.items() <= result["figures"].items()
    ]
    if not values:
        return None
    best = max(values) if row.more_is_better else min(values)
    return Value(best, statistics.median(values), len(values))


def render(results: Sequence[Result], command: str, *, goals_only: bool = False) -> str:
    """Write the tables, with what they were measured on; for a front page only the rows that have a goal."""
    if not results:
        return "No run has been recorded yet.\n"
    comparisons = [each for each in compare(results) if each.met is not None or not goals_only]
    lines = [*_origin(results, command), ""]
    all_sections = BROKER_SECTIONS | CLIENT_SECTIONS | SPARK_SECTIONS | SECTIONS
    for section, (peer, figure) in all_sections.items():
        rows = [comparison for comparison in comparisons if comparison.row.section == section]
        if not rows:
            continue
        lines += [f"**{section}**", "", f"| case | {peer} | {figure} | ratio | of medians | goal | met |"]
        lines += ["|---|---:|---:|---:|---:|---:|---|", *map(_line, rows), ""]
    return "\n".join(lines)


def _origin(results: Sequence[Result], command: str) -> Iterable[str]:
    if any(result["quick"] for result in results):
        yield "**A quick run with small counts: it shows that the bench works, and nothing else.**"
    yield (
        f"Best of the rounds, both sides in turns, page cache warm, by `{command}`. "
        "Each ratio is of one run on one machine."
    )
    runs: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        cases = runs.setdefault((_machine(result["machine"]), result["date"][:10], result["commit"]), [])
        if result["case"] not in cases:
            cases.append(result["case"])
    for machine in sorted({machine for machine, *_ in runs}):
        yield f"\nOn {machine}:\n"
        for (measured_on, date, commit), cases in sorted(runs.items()):
            if measured_on == machine:
                yield f"- {date} at commit {commit}: {', '.join(cases)}"


def _machine(about: dict[str, Any]) -> str:
    return (
        f"{about['cores']} cores of {about['cpu']}, {about['memoryGiB']} GiB, Linux {about['kernel']}, "
        f"{about['fileSystem']}, Java {about['java']}, Python {about['python']}, Rust {about['rust']}"
    )


def _line(comparison: Comparison) -> str:
    row = comparison.row
    peer = row.show(comparison.peer.best) if comparison.peer else "cannot" if comparison.peer_failed else "-"
    met = {True: "yes", False: "**no**", None: ""}[comparison.met]
    cells = (
        row.title,
        peer,
        row.show(comparison.figure.best),
        _ratio(comparison.ratio, row.section),
        _ratio(comparison.median_ratio, row.section),
        _goal(row),
        met,
    )
    return f"| {' | '.join(cells)} |"


def _ratio(ratio: float | None, section: str) -> str:
    if ratio is None:
        return ""
    if section in (LIMIT, BROKER_LIMIT, SPARK_LIMIT) and ratio < 1:
        return f"{ratio:.1%}"
    return f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.3f}x"


def _goal(row: Row) -> str:
    if row.most is not None:
        return f"≤ {row.show(row.most)}"
    if row.least is not None:
        return f"≥ {row.show(row.least)}"
    if row.ratio_goal is None:
        return ""
    return f"{'≥' if row.more_is_better else '≤'} {row.ratio_goal:.3g}x"


def fill_readme(readme: Path, text: str) -> None:
    """Replace what stands between the marks."""
    old = readme.read_text()
    if not MARKS.search(old):
        raise ValueError(f"{readme.name} has no <!-- figures --> marks")
    readme.write_text(MARKS.sub(lambda marks: f"{marks[1]}{text.rstrip()}\n{marks[2]}", old))
