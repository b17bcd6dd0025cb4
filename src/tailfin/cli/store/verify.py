"""Check every record, queue unit and index entry of a store directory.

Damage is named by file and position. The exit code is 0 when there is none, 1 when there is some, and 2
when the path holds no store. A store that was not closed needs recovery: what that will repair is told, but
it is no damage.

Examples:
  tailfin store verify data
  tailfin store verify ~/store --json
"""

import argparse
import json
from collections import Counter

from tailfin.cli.store import common
from tailfin.store.check import Check, Finding


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)
    parser.add_argument("--max", type=int, default=100, metavar="N", help="most findings to print (100)")


def run(args: argparse.Namespace) -> int:
    """Check the directory and print what was found."""
    meter = common.Meter()
    check = Check(common.files(args), common.settings(args), meter)
    damage = kept = 0
    shown: list[Finding] = []
    for finding in check.run():
        damage += finding.damage
        kept += 1
        if kept > args.max:
            continue
        if args.json:
            shown.append(finding)
        else:
            meter.clear()
            print(text(finding), flush=True)
    meter.clear()
    if args.json:
        print(json.dumps(report(check.counts, damage, kept, shown), indent=2, ensure_ascii=False))
    else:
        if kept > args.max:
            print(f"... and {kept - args.max} more")
        print(summary(check.counts, damage))
    return 1 if damage else 0


def text(finding: Finding) -> str:
    """Write a finding for people."""
    return f"{'DAMAGE' if finding.damage else 'note'}: {finding.where}: {finding.what}"


def summary(counts: Counter[str], damage: int) -> str:
    """Say how it went in one line."""
    seen = ", ".join(f"{counts[what]:,} {what}" for what in ("records", "units", "index entries"))
    return f"{seen}: " + (f"{damage:,} damaged" if damage else "no damage")


def report(counts: Counter[str], damage: int, found: int, shown: list[Finding]) -> dict[str, object]:
    """Collect everything for `--json`."""
    return {
        "damaged": damage,
        "counts": dict(counts),
        "findings": [finding._asdict() for finding in shown],
        "findings_left_out": found - len(shown),
    }
