"""Go through a store directory: what the log has against what queues and index say.

Spark reads the log's files, in parallel, and counts by queue which numbers are missing, taken twice or out
of order; records, queue units and index entries are compared one by one, as `tailfin store verify` does.
No broker need run. The exit code is 0 when all is well, and 1 when something is wrong.

Examples:
  tailfin pipeline audit /data/store
  tailfin pipeline audit /data/store --topic orders
  tailfin pipeline audit ~/backup/store --config conf/broker.conf --json
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.cli import output
from tailfin.cli.pipeline import common
from tailfin.cli.store import common as store
from tailfin.cli.store import verify
from tailfin.pipeline import audit, plan
from tailfin.pipeline.audit import QueueAudit
from tailfin.store.check import Check, Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    store.arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument("-t", "--topic", metavar="TOPIC", help="count only this topic's records")
    parser.add_argument("--max", type=int, default=100, metavar="N", help="most findings to print (100)")


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    files = store.files(args)

    def work(session: "SparkSession") -> int:
        # Damaged places are told of by the check.
        options = {"onDamage": "skip", "systemTopics": "true"}
        if args.topic:
            options["topic"] = args.topic
        frame = session.read.format(plan.STORE).options(**options).load(str(files.log))
        return _report(args, audit.queues(session, frame), *_checked(args))

    return common.with_spark(args, "tailfin audit", work)


def _checked(args: argparse.Namespace) -> tuple[Check, list[Finding]]:
    meter = store.Meter()
    check = Check(store.files(args), store.settings(args), meter)
    findings = list(check.run())
    meter.clear()
    return check, findings


def _report(args: argparse.Namespace, queues: list[QueueAudit], check: Check, findings: list[Finding]) -> int:
    damage = sum(each.damage for each in findings)
    shown = findings[: args.max]
    is_whole = not damage and all(each.is_whole for each in queues)
    if args.json:
        counted = verify.report(check.counts, damage, len(findings), shown)
        output.show_json({"queues": queues, **counted})
        return 0 if is_whole else 1
    output.show_table(
        ("topic", "queue", "records", "first", "last", "missing", "duplicated", "out of order", "same id"),
        [
            (
                each.topic,
                each.queue_id,
                each.records,
                each.first,
                each.last,
                each.missing,
                each.duplicated,
                each.out_of_order,
                each.same_id,
            )
            for each in queues
        ],
    )
    for each in queues:
        if each.gaps:
            gaps = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in each.gaps)
            more = " ..." if each.missing > sum(last - first + 1 for first, last in each.gaps) else ""
            print(f"missing in {each.topic}/{each.queue_id}: {gaps}{more}")
    print()
    for finding in shown:
        print(verify.text(finding))
    if len(findings) > len(shown):
        print(f"... and {len(findings) - len(shown)} more")
    print(verify.summary(check.counts, damage))
    return 0 if is_whole else 1
