"""The cases of the broker: the same load, by the same generator, on every side in turn.

One start of a broker serves all measurements of a case, after a warm-up that the official one needs (the
first ten seconds of its life run at a third of its later rate) and that all sides get.
"""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import ballast, brokers, machine
from bench.brokers import Broker, Settings
from bench.cases import GIB, Case, Session, Side
from bench.sides import DifferentWork, Figures
from tailfin import load
from tailfin.load import LoadOptions, ProcessUse, topics

WARM_UP_SECONDS = 25
QUEUES = 8
PAIR = ("official", "tailfin")
WITH_LIMIT = (*PAIR, "limit")
WIDE_PULLS = {"maxTransferCountOnMessageInMemory": 512, "maxTransferBytesOnMessageInMemory": 4 << 20}
Measure = Callable[[Broker], list[Figures]]


def camel(name: str) -> str:
    """Write the engine's names the way the results have them."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def measured(broker: Broker, bench: str, **options: Any) -> Figures:  # noqa: ANN401  # of any type
    """Carry out one run, on memory as a server has it after a while, and return its figures under a name."""
    ballast.fill(broker.home.parent)
    return _run(broker, bench, **options)


def undisturbed(broker: Broker, bench: str, **options: Any) -> Figures:  # noqa: ANN401  # of any type
    """Carry out one run on memory as it is: while others fill it, everything waits."""
    machine.wait_quiet()
    return _run(broker, bench, **options)


def _run(broker: Broker, bench: str, **options: Any) -> Figures:  # noqa: ANN401  # of any type
    wanted = LoadOptions(address=broker.address, **{"topic": "Bench", "queues": QUEUES, **options})
    figures = load.run(wanted, pid=broker.pid)
    received = figures.pop("received", None)
    refused = {str(code): count for code, (count, _) in figures.pop("refused").items()}
    found = {camel(name): value for name, value in figures.items()}
    if received is not None:
        received.pop("refused")
        found |= {camel(f"received_{name}"): value for name, value in received.items()}
    found["refusedShare"] = sum(refused.values()) / figures["requests"] if figures["requests"] else 0.0
    return {"bench": bench, "refused": refused, **found}


def on_each_side(
    session: Session,
    case: Case,
    names: tuple[str, ...],
    measure: Measure,
    settings: Settings | None = None,
    others: dict[str, Side] | None = None,
    *,
    many_pages: bool = True,
    batch: int = 1,
) -> None:
    """Start a broker of each side in turn, warm it up with what is measured then, and measure."""

    def turn(side: str) -> list[Figures]:
        with brokers.running(side, session.data / side, settings) as broker:
            prepare(session, broker, many_pages=many_pages, batch=batch)
            return measure(broker)

    turns = turns_of(turn, names) | (others or {})
    session.alternate(case.name, turns, clean=(*names, "disk"), many_pages=many_pages)


def turns_of(turn: Callable[[str], list[Figures]], names: tuple[str, ...]) -> dict[str, Side]:
    return {side: functools.partial(turn, side) for side in names}


def prepare(session: Session, broker: Broker, *, many_pages: bool, batch: int) -> None:
    """Wait until the broker serves, make the topic, and let it run warm."""
    broker.wait_for_first_send()
    make_topics(broker, "Bench", "WarmUp")
    seconds = session.amount(WARM_UP_SECONDS if broker.side == "official" else 2, 1)
    run = measured if many_pages else undisturbed
    # Until all of it can be read: the official broker would work off the rest while the clock runs.
    options = {"mode": "send", "topic": "WarmUp", "duration": seconds, "batch": batch}
    run(broker, "warm-up", consumable=stores(broker), **options)


def stores(broker: Broker) -> bool:
    """Return whether it is a broker; the limit only answers."""
    return broker.side != "limit"


def make_topics(broker: Broker, *names: str) -> None:
    for name in names if stores(broker) else ():
        topics.create(broker.address, name, QUEUES)


def send(session: Session, case: Case) -> None:
    seconds = session.amount(10, 1)

    def measure(broker: Broker) -> list[Figures]:
        wide = {"mode": "send", "connections": 8, "in_flight": 32, "duration": seconds, "warm_up": 1}
        narrow = wide | {"connections": 1, "in_flight": 1}
        return [
            measured(broker, "send-128", body_bytes=128, **wide),
            measured(broker, "send-1k", body_bytes=1024, **wide),
            measured(broker, "send-128-1x1", body_bytes=128, **narrow),
        ]

    on_each_side(session, case, WITH_LIMIT, measure)


def batch(session: Session, case: Case) -> None:
    seconds = session.amount(10, 1)

    def measure(broker: Broker) -> list[Figures]:
        wide = {"mode": "send", "connections": 8, "in_flight": 8, "duration": seconds, "batch": 32}
        return [
            measured(broker, "batch-128", body_bytes=128, consumable=stores(broker), **wide),
            measured(broker, "batch-1k", body_bytes=1024, consumable=stores(broker), **wide),
        ]

    on_each_side(session, case, WITH_LIMIT, measure, batch=32)


def pull(session: Session, case: Case) -> None:
    seconds = session.amount(10, 1)

    def measure(broker: Broker) -> list[Figures]:
        found = []
        for body, count, name in ((128, 2_000_000, "128"), (1024, 1_000_000, "1k")):
            topic = f"Pull{name}"
            make_topics(broker, topic)
            fill = {"mode": "send", "batch": 32, "count": session.amount(count, 20_000)}
            measured(broker, "fill", topic=topic, body_bytes=body, consumable=stores(broker), **fill)
            for wanted in (32, 512):
                options = {
                    "mode": "pull",
                    "connections": 8,
                    "in_flight": 1,
                    "duration": seconds,
                    "warm_up": 2,
                }
                bench = f"pull-{wanted}-{name}"
                found.append(measured(broker, bench, topic=topic, pull_batch=wanted, **options))
        return found

    on_each_side(session, case, WITH_LIMIT, measure, WIDE_PULLS)


def end_to_end(session: Session, case: Case) -> None:
    seconds, warm_up = session.amount(20, 1), session.amount(5, 1)

    def measure(broker: Broker) -> list[Figures]:
        common = {"mode": "e2e", "connections": 1, "in_flight": 4096, "duration": seconds, "warm_up": warm_up}
        return [undisturbed(broker, f"e2e-{rate}", rate=float(rate), **common) for rate in (1_000, 10_000)]

    on_each_side(session, case, PAIR, measure, many_pages=False)


def sync_flush(session: Session, case: Case) -> None:
    seconds = session.amount(10, 1)

    def measure(broker: Broker) -> list[Figures]:
        wide = {"mode": "send", "connections": 8, "in_flight": 32, "duration": seconds, "warm_up": 1}
        narrow = wide | {"connections": 1, "in_flight": 1}
        return [
            measured(broker, "sync-128", **wide),
            measured(broker, "sync-128-1x1", **narrow),
        ]

    def disk() -> list[Figures]:
        return session.run("engine", "fdatasync", "disk", count=session.amount(5000, 200))

    on_each_side(session, case, PAIR, measure, {"flushDiskType": "SYNC_FLUSH"}, {"limit": disk})


def many_topics(session: Session, case: Case) -> None:
    """Create topics, then write to all queues of 5,000 of them; one topic's rate stands beside."""
    count = session.amount(5_000, 200)
    seconds = session.amount(15, 1)

    def measure(broker: Broker) -> list[Figures]:
        created = min(count, 1_000)
        narrow = {"mode": "create", "connections": 4, "in_flight": 4}
        found = [measured(broker, "create", topic="Made", topics=created, count=created, **narrow)]
        measured(broker, "create", topic="Many", topics=count, count=count, **narrow)
        wide = {"mode": "send", "connections": 8, "in_flight": 32, "duration": seconds}
        found.append(measured(broker, "one-topic", **wide))
        many = measured(broker, "many-topics", topic="Many", topics=count, **wide)
        one_rate = found[-1]["messagesPerSecond"]
        share = many["messagesPerSecond"] / one_rate if one_rate else 0.0
        return [*found, many | {"descriptors": broker.descriptors(), "shareOfOneTopic": share}]

    on_each_side(session, case, PAIR, measure)


def overload(session: Session, case: Case) -> None:
    seconds = session.amount(15, 1)

    def measure(broker: Broker) -> list[Figures]:
        options = {"mode": "send", "connections": 8, "duration": seconds, "warm_up": 1}
        usual = measured(broker, "usual", in_flight=32, **options)
        much = measured(broker, "overload", in_flight=2048, **options)
        usual_rate = usual["messagesPerSecond"]
        return [usual, much | {"shareOfUsual": much["messagesPerSecond"] / usual_rate if usual_rate else 0.0}]

    on_each_side(session, case, PAIR, measure)


def life(session: Session, case: Case) -> None:
    """A broker's life: start, first seconds, rest, orderly stop."""
    first, idle = session.amount(10, 1), session.amount(20, 2)

    def turn(side: str) -> list[Figures]:
        with brokers.running(side, session.data / side) as broker:
            started = broker.wait_for_first_send()
            topics.create(broker.address, "Bench", QUEUES)
            cold = measured(broker, "first-seconds", mode="send", duration=first)
            warm = session.amount(WARM_UP_SECONDS if side == "official" else 2, 1)
            measured(broker, "warm-up", mode="send", duration=warm)
            later = measured(broker, "later", mode="send", duration=first)
            share = cold["messagesPerSecond"] / later["messagesPerSecond"]
        with brokers.running(side, session.data / f"{side}-idle") as broker:
            broker.wait_for_first_send()
            rest = _at_rest(broker, idle)
            stopped = broker.stop_in_order()
        figures = {"bench": "life", "firstSendSeconds": started, "firstSecondsShare": share}
        return [figures | rest | {"stopSeconds": stopped}]

    session.alternate(
        case.name, turns_of(turn, PAIR), clean=("official", "tailfin", "official-idle", "tailfin-idle")
    )


def _at_rest(broker: Broker, seconds: int) -> Figures:
    """Let it come to rest, then see what it uses while nothing happens."""
    time.sleep(seconds / 2)
    before = ProcessUse.of(broker.pid)
    time.sleep(seconds)
    after = ProcessUse.of(broker.pid)
    return {
        "restCpuShare": (after.cpu_seconds - before.cpu_seconds) / seconds,
        "restAnonymousBytes": after.anonymous_bytes,
        "restResidentBytes": after.resident_bytes,
    }


def restart(session: Session, case: Case) -> None:
    """Fill 2 GiB of log, kill, and time the next start until its first acknowledged message."""
    log_bytes = session.amount(2 * GIB, GIB // 32)

    def turn(side: str) -> list[Figures]:
        home = session.data / side
        # A record of the log has about 240 bytes beside its body.
        count = log_bytes // (case.body + 240)
        with brokers.running(side, home) as broker:
            broker.wait_for_first_send()
            topics.create(broker.address, "Bench", QUEUES)
            fill = {"mode": "send", "body_bytes": case.body, "count": count, "in_flight": 32}
            filled = measured(broker, "fill", **fill)
        log = _log_bytes(home)
        with brokers.running(side, home) as broker:
            seconds = broker.wait_for_first_send()
            readable = _seconds_until_readable(broker, filled["messagesEver"])
        found = {"bench": "restart", "body": case.body, "logBytes": log}
        return [found | {"firstSendSeconds": seconds, "allReadableSeconds": readable}]

    session.alternate(case.name, turns_of(turn, PAIR), clean=PAIR)


def _seconds_until_readable(broker: Broker, count: int) -> float:
    """Return when, after its start, everything acknowledged before the kill can be read."""
    while time.monotonic() - broker.started < brokers.START_SECONDS_MAX:
        kept = sum(topics.queue_ends(broker.address, "Bench", QUEUES))
        if kept >= count:
            return time.monotonic() - broker.started
        time.sleep(brokers.PROBE_SECONDS)
    raise DifferentWork(f"the {broker.side} broker has {kept} of {count} messages after the kill")


def _log_bytes(home: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in home.rglob("commitlog/*"))


CASES = (
    Case("broker-send", "sends of 128 B and 1 KiB, 8 x 32 and 1 x 1 under way", 12, send),
    Case("broker-batch", "batches of 32", 45, batch),
    Case("broker-pull", "pulls of 32 and of 512, 128 B and 1 KiB", 10, pull),
    Case("broker-e2e", "end to end at 1,000 and 10,000 messages a second", 4, end_to_end),
    Case("broker-sync", "sends with SYNC_FLUSH, 8 x 32 and 1 x 1", 6, sync_flush),
    Case("broker-topics", "creating topics; writing to 5,000 topics of 8 queues", 14, many_topics),
    Case("broker-overload", "8 x 2,048 under way", 12, overload),
    Case("broker-life", "start, first seconds, rest, orderly stop", 10, life),
    Case("broker-restart-128", "start after kill -9 with 2 GiB of 128 B messages", 6, restart, body=128),
    Case("broker-restart-1k", "start after kill -9 with 2 GiB of 1 KiB messages", 6, restart, body=1024),
)
