"""Show what fails: dead letters by group, topic and reason, with samples; and have them consumed again.

Why a handler did not consume a message is known where consumers write a trace; else it is said how often it
was tried. With --resend the groups get copies of all dead letters that are shown, by their retry topics, as
`tailfin dlq resend` does it; the dead letters stay until they expire.

Examples:
  tailfin pipeline dlq
  tailfin pipeline dlq --group billing --from 1d --samples 5
  tailfin pipeline dlq --group billing --topic orders --reason exception --resend
  tailfin pipeline dlq --json
"""

import argparse
from typing import TYPE_CHECKING

from tailfin.admin.blocking import AdminClient
from tailfin.broker.names import DLQ_PREFIX
from tailfin.cli import admin, output, words
from tailfin.cli.pipeline import common
from tailfin.cli.store.common import iso
from tailfin.cli.store.dump import body_field, body_text
from tailfin.config.setting import ConfigError
from tailfin.pipeline import dead_letters, plan
from tailfin.pipeline.dead_letters import Failing, Letter, Wanted
from tailfin.pipeline.trace import TOPIC, Trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLES = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    admin.arguments(parser)
    common.spark_arguments(parser)
    parser.add_argument(
        "-g",
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="GROUP",
        help="only of this group; may be repeated",
    )
    parser.add_argument(
        "-t",
        "--topic",
        dest="topics",
        action="append",
        default=[],
        metavar="TOPIC",
        help="only messages sent to this topic; may be repeated",
    )
    parser.add_argument("--reason", metavar="TEXT", help="only those whose reason has this in it")
    parser.add_argument(
        "--id", dest="ids", action="append", default=[], metavar="ID", help="only this one; may be repeated"
    )
    parser.add_argument("--from", dest="start", type=words.place, metavar="TIME", help="died at or after")
    parser.add_argument("--to", dest="end", type=words.place, metavar="TIME", help="died before")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help=f"samples of each kind ({SAMPLES})"
    )
    parser.add_argument("--trace-topic", default=TOPIC, metavar="TOPIC", help=f"where reasons are ({TOPIC})")
    parser.add_argument("--resend", action="store_true", help="have the groups consume them again")


def run(args: argparse.Namespace) -> int:
    """Show the dead letters, and send them again."""
    if args.resend and not args.groups:
        raise ConfigError("--resend needs --group: say whose dead letters are sent again")
    return common.carry_out(lambda: _look(args))


def _look(args: argparse.Namespace) -> int:
    with AdminClient(**admin.options(args)) as client:
        found = client.topics.list(everything=True)
        groups = [each.removeprefix(DLQ_PREFIX) for each in found if each.startswith(DLQ_PREFIX)]
        wanted = [each for each in args.groups or groups if each in groups]
        if not wanted:
            return _show(args, [], 0)
        has_trace = args.trace_topic in found
        return common.with_spark(
            args, "tailfin dlq", lambda session: _dlq(session, client, args, wanted, has_trace)
        )


def _dlq(
    session: "SparkSession", client: AdminClient, args: argparse.Namespace, groups: list[str], has_trace: bool
) -> int:
    def read(**options: str) -> "DataFrame":
        every = {**common.source_options(args), **options}
        return session.read.format(plan.ROCKETMQ).options(**every).load()

    trace = Trace(session, read(topic=args.trace_topic)) if has_trace else None
    try:
        letters = dead_letters.letters(
            session,
            read(includeProperties="true", **dead_letters.topics_of(groups), **common.edges(args)),
            trace.consumed if trace else None,
            Wanted(args.topics, args.reason, args.ids),
        )
        failing = dead_letters.failing(session, letters, args.samples)
        sent = 0
        if args.resend:
            for row in letters.select("consumers", "id").toLocalIterator():
                client.dead_letters.resend(row.consumers, row.id)
                sent += 1
    finally:
        if trace:
            trace.close()
    return _show(args, failing, sent)


def _show(args: argparse.Namespace, failing: list[Failing], sent: int) -> int:
    if args.json:
        output.show_json({"failing": [_plain(each) for each in failing], "sent": sent})
        return 0
    if not failing:
        print("no dead letters")
        return 0
    output.show_table(
        ("group", "topic", "letters", "first", "last", "reason"),
        [
            (each.group, each.topic, each.letters, iso(each.first), iso(each.last), each.reason)
            for each in failing
        ],
    )
    for each in failing:
        if each.samples:
            print(f"\n{each.group}, {each.topic}, {each.reason}:")
            output.show_table(
                ("id", "died", "tags", "keys", "body"),
                [
                    (letter.message_id, iso(letter.died), letter.tags, letter.keys, body_text(letter.body))
                    for letter in each.samples
                ],
            )
    if args.resend:
        print(f"\n{sent} dead letters sent again")
    return 0


def _plain(failing: Failing) -> dict[str, object]:
    return {
        "group": failing.group,
        "topic": failing.topic,
        "reason": failing.reason,
        "letters": failing.letters,
        "first": failing.first,
        "last": failing.last,
        "samples": [_plain_letter(each) for each in failing.samples],
    }


def _plain_letter(letter: Letter) -> dict[str, object]:
    return {
        "message_id": letter.message_id,
        "died": letter.died,
        "tags": letter.tags,
        "keys": letter.keys,
        "attempts": letter.attempts,
        **body_field(letter.body),
    }
