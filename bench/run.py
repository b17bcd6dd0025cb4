"""Measure broker, Python client, Spark connector and log store beside their peers, and keep the figures.

    python -m bench.run [--quick] [--only CASE] [--rounds N] [--dir DIR] [--json]
    python -m bench.run --render

Each result is a line in bench/results; bench/results/latest.md is the table of each case's newest run, and
--render puts it into the README. A quick run shows that everything works and is kept out of both.
"""

import argparse
import contextlib
import datetime
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import ballast, broker_cases, cases, client_cases, delay_cases, machine, report, spark_cases
from bench.sides import BenchError, Figures

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench/results"
QUICK_RESULTS = ROOT / ".build/bench"
COMMAND = "make bench"
QUICK_GIB = 3
BUSY = 0.7
CASES = (
    *broker_cases.CASES,
    *delay_cases.CASES,
    *client_cases.CASES,
    *spark_cases.CASES,
    *cases.STORE_CASES,
)


def main() -> int:
    args = parse()
    if args.render:
        render(RESULTS)
        front = report.render(report.newest(RESULTS), COMMAND, goals_only=True)
        report.fill_readme(ROOT / "README.md", front)
        return 0
    try:
        return measure(args, list(chosen(args.only)) if args.only else list(CASES))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run.py",
        description="Measure beside the official broker and store, and other Python clients.",
    )
    parser.add_argument("--quick", action="store_true", help="small counts and one round; nothing is kept")
    parser.add_argument("--only", action="append", metavar="CASE", help="a case, or the first word of some")
    parser.add_argument("--rounds", type=int, help="turns of each side (default 3)")
    parser.add_argument("--dir", type=Path, default=ROOT / "bench/.data", help="where the stores are written")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON instead of a table")
    parser.add_argument("--render", action="store_true", help="only write the tables from the results")
    parser.add_argument("--list", action="version", version=listing(), help="list the cases and stop")
    return parser.parse_args()


def listing() -> str:
    return "; ".join(f"{case.name}: {case.about}" for case in CASES)


def chosen(names: list[str]) -> Iterator[cases.Case]:
    for name in names:
        found = [case for case in CASES if case.name == name or case.name.startswith(f"{name}-")]
        if not found:
            raise BenchError(f"no case {name!r}; there are {', '.join(case.name for case in CASES)}")
        yield from found


def measure(args: argparse.Namespace, chosen: list[cases.Case]) -> int:
    folder = QUICK_RESULTS if args.quick else RESULTS
    if args.quick:
        shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()

    def progress(text: str) -> None:
        print(f"[{time.monotonic() - began:7.1f} s] {text}", file=sys.stderr, flush=True)

    with data_folder(args.dir) as data:
        if not args.quick:
            ballast.place(data).mkdir()
        about = machine.describe(data)
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        origin = {
            "run": now.isoformat(),
            "commit": machine.commit(),
            "machineId": machine.short_id(about),
            "machine": about,
            "quick": args.quick,
        }
        if machine.busy() > BUSY:
            progress(f"the machine is busy (load {machine.busy():.1f}): these figures are not to be trusted")

        def record(case: str, side: str, turn: int, figures: Figures) -> None:
            date = datetime.datetime.now(datetime.UTC).replace(microsecond=0).isoformat()
            line = {"case": case, "side": side, "round": turn, "date": date, "load": machine.busy()}
            report.append_result(folder, {**line, **origin, "figures": figures})

        rounds = args.rounds or (1 if args.quick else 3)
        session = cases.Session(data, args.quick, rounds, record, progress)
        failed = run_cases(session, chosen)
    progress("done")
    show(folder, as_json=args.json)
    for text in failed:
        print(f"bench: {text}", file=sys.stderr)
    return 1 if failed else 0


def run_cases(session: cases.Session, chosen: list[cases.Case]) -> list[str]:
    """Run the cases; one that fails does not keep the others from running."""
    failed = []
    for case in chosen:
        need = min(case.gib, QUICK_GIB) if session.quick else case.gib
        free = shutil.disk_usage(session.data).free / cases.GIB
        if free < need:
            failed.append(f"{case.name} needs {need} GiB of disk, {free:.0f} are free; give another --dir")
            continue
        try:
            case.run(session, case)
        except BenchError as error:
            failed.append(f"{case.name}: {error}")
    return failed


@contextlib.contextmanager
def data_folder(path: Path) -> Iterator[Path]:
    """Make a folder of our own inside `path`, and remove it whatever happens."""
    data = path.resolve() / f"run-{os.getpid()}"
    data.mkdir(parents=True)
    try:
        yield data
    finally:
        shutil.rmtree(data, ignore_errors=True)
        with contextlib.suppress(OSError):  # others may be in it
            path.rmdir()


def render(folder: Path) -> str:
    text = report.render(report.newest(folder), COMMAND)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.md").write_text(f"# Figures\n\n{text}")
    return text


def show(folder: Path, *, as_json: bool) -> None:
    text = render(folder)
    if as_json:
        found = report.compare(report.newest(folder))
        print(json.dumps([comparison.as_json() for comparison in found], indent=1, ensure_ascii=False))
    else:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
