"""Note how far groups lag behind, now and then, in Parquet files; or show what was noted.

With --every it goes on until Ctrl-C; without it groups are looked at once, as from cron. With --show nobody
is asked, and the history is summed up; --samples shows every look instead. The files of a day that is over
become one. This needs no Spark; its files are there for it (`spark.read.parquet`).

Examples:
  tailfin pipeline lag --to /data/lag --every 1m
  tailfin pipeline lag --to /data/lag --group billing
  tailfin pipeline lag --to /data/lag --show --from 1d
  tailfin pipeline lag --to /data/lag --show --group billing --samples --json
"""

import argparse
import asyncio
import contextlib

from tailfin.admin.client import AdminClient
from tailfin.cli import admin, output, words
from tailfin.cli.serving import asked_to_stop
from tailfin.cli.store.common import iso
from tailfin.pipeline.folders import mounted
from tailfin.pipeline.lag import History, Lag, look, trends
from tailfin.wire.header import now_ms


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    admin.arguments(parser)
    parser.add_argument("--to", dest="path", required=True, metavar="PATH", help="the history's folder")
    parser.add_argument(
        "-g",
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="GROUP",
        help="only this group; may be repeated",
    )
    parser.add_argument("--every", type=words.seconds, metavar="S", help="go on, and look so often")
    parser.add_argument("--show", action="store_true", help="show what was noted")
    parser.add_argument("--samples", action="store_true", help="with --show: every look")
    parser.add_argument(
        "--from",
        dest="start",
        type=words.place,
        default=0,
        metavar="TIME",
        help="with --show: noted at or after",
    )


def run(args: argparse.Namespace) -> int:
    """Note the lag, or show it."""
    history = History(mounted(args.path))
    if args.show:
        start = args.start if isinstance(args.start, int) else 0
        return _show(args, history.read(args.groups, start))
    return admin.run(args, lambda client, args: _note(client, args, history))


async def _note(client: AdminClient, args: argparse.Namespace, history: History) -> None:
    stop = asked_to_stop()
    while not stop.is_set():
        noted = await look(client, args.groups, now_ms())
        history.append(noted)
        if args.json:
            output.show_json(noted)
        else:
            behind = sum(each.lag for each in noted)
            print(f"{iso(now_ms())}: {len(noted)} groups and topics, {behind:,} messages behind", flush=True)
        if args.every is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(args.every):
                await stop.wait()


def _show(args: argparse.Namespace, noted: list[Lag]) -> int:
    found = noted if args.samples else trends(noted)
    if args.json:
        output.show_json(found)
    elif args.samples:
        output.show_table(
            ("time", "group", "topic", "lag", "in flight", "behind s"),
            [(iso(e.at), e.group, e.topic, e.lag, e.in_flight, e.behind_ms / 1000) for e in noted],
        )
    else:
        output.show_table(
            ("group", "topic", "samples", "first", "last", "least", "most", "behind s", "read a second"),
            [
                (
                    e.group,
                    e.topic,
                    e.samples,
                    e.first,
                    e.last,
                    e.least,
                    e.most,
                    e.behind_ms / 1000,
                    e.consumed_per_second,
                )
                for e in trends(noted)
            ],
        )
    return 0
