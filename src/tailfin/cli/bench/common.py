"""What the verbs of `tailfin bench` share: where the broker is, how much, how it is shown."""

import argparse
import contextlib
import json
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

from tailfin import load
from tailfin.cli.store.common import Meter
from tailfin.load import Figures, LoadFailed, LoadOptions, topics

QUEUES = 8
INTERRUPTED = 128 + signal.SIGINT
REMARK_MAX = 120


def arguments(parser: argparse.ArgumentParser, *, connections: int, in_flight: int) -> None:
    """Declare what every verb takes."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("-n", "--namesrv", metavar="HOST:PORT", help="a nameserver that knows the broker")
    where.add_argument("-b", "--broker", metavar="HOST:PORT", help="the broker itself")
    parser.add_argument("--topic", default="TailfinBench", help="(default TailfinBench)")
    parser.add_argument(
        "--queues", type=positive, metavar="N", help="queues used (default: all of the topic)"
    )
    parser.add_argument("--group", default="tailfin-bench", help="producer or consumer group")
    parser.add_argument(
        "--connections", type=positive, default=connections, metavar="N", help=f"(default {connections})"
    )
    parser.add_argument(
        "--in-flight",
        type=positive,
        default=in_flight,
        metavar="N",
        help=f"requests under way on each connection (default {in_flight})",
    )
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="of the generator (default 1)"
    )
    parser.add_argument("--duration", type=seconds, metavar="S", help="seconds that count (default 10)")
    parser.add_argument("--count", type=positive, metavar="N", help="or so many messages, whichever is first")
    parser.add_argument("--warm-up", type=seconds, default=0.0, metavar="S", help="seconds before, uncounted")
    parser.add_argument("--header", choices=("json", "binary"), default="json", help="encoding of requests")
    parser.add_argument("--timeout", type=seconds, default=15.0, metavar="S", help="give up without answers")
    parser.add_argument("--pid", type=positive, metavar="PID", help="the broker's process, to tell its CPU")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def messages(parser: argparse.ArgumentParser) -> None:
    """Declare the size of a message and whether to make the topic."""
    parser.add_argument("--size", type=size, default=128, metavar="B", help="of a body, as 128 or 1k")
    parser.add_argument("--create", action="store_true", help="create the topic if it is missing")


def options(args: argparse.Namespace, mode: load.options.Mode) -> LoadOptions:
    """Build the options that all verbs have in common, with the broker's address looked up."""
    broker = args.broker or topics.find_broker(args.namesrv, args.topic)
    return LoadOptions(
        mode=mode,
        address=topics.resolve(broker),
        topic=args.topic,
        queues=args.queues or QUEUES,
        group=args.group,
        connections=args.connections,
        in_flight=args.in_flight,
        threads=args.threads,
        duration=10.0 if args.duration is None and args.count is None else args.duration,
        count=args.count,
        warm_up=args.warm_up,
        binary=args.header == "binary",
        patience=args.timeout,
    )


def with_topic(wanted: LoadOptions, args: argparse.Namespace, *, create: bool) -> LoadOptions:
    """Make sure that the topic is there and has the queues; without `--queues` use all it has."""
    first = wanted.topic if wanted.topics == 1 else f"{wanted.topic}-00000"
    found = topics.queue_count(wanted.address, first)
    if found is None and not create:
        more = " or several of them" if wanted.topics > 1 else ""
        raise LoadFailed(
            f"there is no topic {first}{more} on {wanted.address}; "
            "--create of bench send or bench e2e makes it"
        )
    if found is None:
        if wanted.topics == 1:
            topics.create(wanted.address, first, wanted.queues)
        else:
            load.run(replace(wanted, mode="create", count=wanted.topics, duration=None, batch=1, rate=None))
        return wanted
    if args.queues is not None and args.queues > found:
        raise LoadFailed(f"topic {first} has {found} queues, fewer than --queues {args.queues}")
    return replace(wanted, queues=args.queues or found)


def run(wanted: LoadOptions, args: argparse.Namespace) -> tuple[Figures, int]:
    """Carry out the run; Ctrl-C ends it early, with its figures so far."""
    meter = Meter()
    with _interrupts() as interrupts:

        def progress(phase: str, seconds: float, messages: int) -> bool:
            meter(f"{phase}, {seconds:.1f} s", messages, 0)
            return not interrupts

        figures = load.run(wanted, pid=args.pid, progress=progress)
    meter.clear()
    if figures["interrupted"]:
        return figures, INTERRUPTED
    failed = figures["refused"] or figures.get("received", {}).get("refused") or figures.get("missing")
    return figures, 1 if failed else 0


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect Ctrl-C instead of raising it; the engine asks a few times a second."""
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def show(wanted: LoadOptions, figures: Figures, args: argparse.Namespace, lines: list[str]) -> None:
    """Print the figures: all of them as JSON, or the lines and what every run has."""
    if args.json:
        said = {"mode": wanted.mode, "topic": wanted.topic, "broker": wanted.address, **figures}
        print(json.dumps(said, indent=1))
        return
    for line in [*lines, *_server_lines(figures), *_refused_lines(figures)]:
        print(line)
    if figures["interrupted"]:
        print("tailfin: interrupted; these are the figures so far", file=sys.stderr)


def rate_line(figures: Figures, what: str = "messages") -> str:
    """Tell the rate and the amount."""
    megabytes = figures["body_bytes_per_second"] / 1e6
    return (
        f"  {figures['messages_per_second']:,.0f} {what}/s  {megabytes:,.1f} MB/s of bodies  "
        f"({figures['messages']:,} in {figures['seconds']:.2f} s)"
    )


def latency_line(figures: Figures, what: str) -> str:
    """Tell the latencies."""
    named = {"p50": "p50_ms", "p99": "p99_ms", "p99.9": "p999_ms", "max": "max_ms"}
    return f"  {what}: " + "  ".join(f"{name} {figures[key]:.3f} ms" for name, key in named.items())


def _server_lines(figures: Figures) -> Iterator[str]:
    if "server_cpu_seconds" in figures:
        per_million = figures.get("server_cpu_seconds_per_million")
        cpu = f"{per_million:.2f} CPU s per million" if per_million else "-"
        memory = f"{_mib(figures['server_resident_bytes'])} resident"
        yield f"  broker: {cpu}, {memory}, {_mib(figures['server_anonymous_bytes'])} of it anonymous"
    if "client_cpu_seconds_per_million" in figures:
        yield f"  generator: {figures['client_cpu_seconds_per_million']:.2f} CPU s per million"


def _refused_lines(figures: Figures) -> Iterator[str]:
    for code, (count, remark) in figures["refused"].items():
        yield f"  refused with code {code}: {count:,} ({remark[:REMARK_MAX]})"


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number


def pair(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def seconds(text: str) -> float:
    """Read a time in seconds."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no time in seconds")
    return number


def size(text: str) -> int:
    """Read a number of bytes, as 128, 1k or 2M."""
    found = re.fullmatch(r"(\d+)([kKmM]?)(i?B)?", text)
    if not found or int(found[1]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: use 128, 1k or 2M")
    return int(found[1]) << {"": 0, "k": 10, "m": 20}[found[2].lower()]


def per_second(text: str) -> float:
    """Read a rate."""
    try:
        number = float(text.replace(",", "").removesuffix("/s"))
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate above 0")
    return number
