"""Messages that wait: what a million of them cost, how late they come, how fast if all are due at once."""

import asyncio
import itertools
import random
import time
from collections.abc import Iterator

from bench import brokers
from bench.broker_cases import PAIR, QUEUES, measured, turns_of
from bench.brokers import Broker
from bench.cases import Case, Session
from bench.sides import DifferentWork, Figures
from tailfin.load import ProcessUse, topics
from tailfin.message import Message
from tailfin.remoting import Client
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.pull import PullMessageRequestHeader

LEVELS = 18
MOMENTS = 100
"""Different times among timed messages of one run."""
FAR_LEVELS = " ".join(f"{hour}h" for hour in range(3, 3 + LEVELS))
NEAR_LEVELS = " ".join(f"{second}s" for second in range(1, 1 + LEVELS))
FAR_S = (3 * 3600, 2 * 86_400)
SLOWEST_FILL = 20_000
"""Messages a second that every side can take; due times follow from it."""
MARGIN_S = 15
TRIES = 50
DELIVERY_S_MAX = 900
Properties = tuple[tuple[str, str], ...]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def fill(broker: Broker, topic: str, count: int, asked: list[Properties], **options: object) -> None:
    """Send messages, as many of each kind; what a busy broker refused is sent again."""
    common = {"mode": "send", "topic": topic, "connections": 4, "in_flight": 32, **options}
    for place, properties in enumerate(asked):
        left = count * (place + 1) // len(asked) - count * place // len(asked)
        for _ in range(TRIES):
            if left:
                done = measured(broker, "fill", properties=properties, count=left, **common)
                left = sum(done["refused"].values())
        if left:
            raise DifferentWork(f"the {broker.side} broker refuses waiting messages: {done['refused']}")


def begun(broker: Broker, topic: str) -> float:
    """Wait until the broker serves, and make the topic."""
    seconds = broker.wait_for_first_send()
    topics.create(broker.address, topic, QUEUES)
    return seconds


def pending(session: Session, case: Case) -> None:
    """Let messages wait in all levels and for random times; then rest, kill, and start again."""
    count = session.amount(1_000_000, 4_000)
    chance = random.Random(1)
    settle = session.amount(20, 2)

    def turn(side: str) -> list[Figures]:
        home, settings = session.data / side, {"messageDelayLevel": FAR_LEVELS}
        with brokers.running(side, home, settings) as broker:
            begun(broker, "Pending")
            fill(broker, "Pending", count // 2, [(("DELAY", str(level)),) for level in range(1, 1 + LEVELS)])
            times = [now_ms() + chance.randint(*FAR_S) * 1000 for _ in range(MOMENTS)]
            fill(broker, "Pending", count // 2, [(("TIMER_DELIVER_MS", str(each)),) for each in times])
            time.sleep(settle)
            use = ProcessUse.of(broker.pid)
        with brokers.running(side, home, settings) as broker:
            started = broker.wait_for_first_send()
            time.sleep(settle)
            again = ProcessUse.of(broker.pid)
            if early := sum(topics.queue_ends(broker.address, "Pending", QUEUES)):
                raise DifferentWork(f"the {side} broker delivered {early} messages hours early")
        figures = {"bench": "pending", "messages": count, "firstSendSeconds": started}
        memory = {"anonymousBytes": use.anonymous_bytes, "residentBytes": use.resident_bytes}
        return [figures | memory | {"restartedAnonymousBytes": again.anonymous_bytes}]

    session.alternate(case.name, turns_of(turn, PAIR), clean=PAIR)


def lateness(session: Session, case: Case) -> None:
    """Send at a moderate rate and see how much later than asked messages arrive."""
    seconds, rate = session.amount(20, 3), 1_000.0

    def turn(side: str) -> list[Figures]:
        with brokers.running(side, session.data / side, {"messageDelayLevel": NEAR_LEVELS}) as broker:
            begun(broker, "Levels")
            topics.create(broker.address, "Timers", QUEUES)
            found: dict[str, list[int]] = {"Levels": [], "Timers": []}
            for topic, asked in (("Levels", ("DELAY", "2")), ("Timers", ("TIMER_DELAY_MS", "2000"))):
                count = int(rate) * seconds
                fill(broker, topic, count, [(asked,)], rate=rate, connections=1, in_flight=256)
                wait_delivered(broker, topic, count)
                found[topic] = [_late_ms(message) for message in read(broker.address, topic)]
        return [
            {"bench": f"lateness-{topic.lower()}", "messages": len(late), **_percentiles(late)}
            for topic, late in found.items()
        ]

    session.alternate(case.name, turns_of(turn, PAIR), clean=PAIR)


def _late_ms(message: Message) -> int:
    return message.store_timestamp - message.born_timestamp - 2000


def _percentiles(late: list[int]) -> Figures:
    ordered = sorted(late)
    shares = {"p50Ms": 0.5, "p99Ms": 0.99}
    return {name: ordered[int((len(ordered) - 1) * share)] for name, share in shares.items()}


def due_at_once(session: Session, case: Case) -> None:
    """Let a million messages be due at one moment: timed to it, and of a level while the broker was down."""
    count = session.amount(1_000_000, 4_000)
    margin = count // SLOWEST_FILL + MARGIN_S

    def turn(side: str) -> list[Figures]:
        return [_levels_at_once(session, side, count, margin), _timers_at_once(session, side, count, margin)]

    session.alternate(case.name, turns_of(turn, PAIR), clean=(*PAIR, *(f"{side}-timed" for side in PAIR)))


def _levels_at_once(session: Session, side: str, count: int, margin: int) -> Figures:
    home, settings = session.data / side, {"messageDelayLevel": f"{margin}s"}
    with brokers.running(side, home, settings) as broker:
        begun(broker, "Due")
        fill(broker, "Due", count, [(("DELAY", "1"),)])
    time.sleep(margin + 1)
    with brokers.running(side, home, settings) as broker:
        broker.wait_for_first_send()
        return {"bench": "due-levels", **wait_delivered(broker, "Due", count)}


def _timers_at_once(session: Session, side: str, count: int, margin: int) -> Figures:
    with brokers.running(side, session.data / f"{side}-timed") as broker:
        begun(broker, "Due")
        moment = now_ms() + margin * 1000
        fill(broker, "Due", count, [(("TIMER_DELIVER_MS", str(moment)),)])
        if now_ms() >= moment:
            raise DifferentWork(f"the {side} broker took longer than {margin} s for {count} messages")
        return {"bench": "due-timers", **wait_delivered(broker, "Due", count)}


def wait_delivered(broker: Broker, topic: str, count: int) -> Figures:
    """Wait for all messages, and tell how fast they came."""
    samples: list[tuple[float, int]] = []
    deadline = time.monotonic() + DELIVERY_S_MAX
    for sample in _ends(broker.address, topic):
        samples.append(sample)
        if sample[1] >= count:
            break
        if time.monotonic() > deadline:
            raise DifferentWork(f"the {broker.side} broker delivered {sample[1]} of {count} messages")
    if samples[-1][1] > count:
        raise DifferentWork(f"the {broker.side} broker delivered {samples[-1][1]} messages of {count}")
    # From the last look that found nothing more than before the burst to the first that found all.
    first = next((at for (at, _), (_, after) in itertools.pairwise(samples) if after), samples[0][0])
    seconds = max(samples[-1][0] - first, 0.001)
    return {"messages": count, "seconds": seconds, "messagesPerSecond": count / seconds}


def _ends(address: str, topic: str) -> Iterator[tuple[float, int]]:
    while True:
        yield time.monotonic(), sum(topics.queue_ends(address, topic, QUEUES))
        time.sleep(brokers.PROBE_SECONDS)


def read(address: str, topic: str) -> list[Message]:
    """Read a whole topic."""
    return asyncio.run(_read(address, topic))


async def _read(address: str, topic: str) -> list[Message]:
    client = Client()
    found: list[Message] = []
    try:
        for queue_id in range(QUEUES):
            offset = 0
            while True:
                header = PullMessageRequestHeader(
                    consumer_group="tailfin-bench",
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=offset,
                    max_msg_nums=32,
                    sys_flag=4,
                    commit_offset=0,
                    suspend_timeout_millis=0,
                    subscription="*",
                    sub_version=0,
                )
                answer = await client.call(
                    address, Code.PULL_MESSAGE, header=header, accept=frozenset(range(-1, 4000))
                )
                if answer.code != ResponseCode.SUCCESS:
                    break
                offset = int(answer.fields["nextBeginOffset"])
                found += _records(answer.body)
    finally:
        await client.stop()
    return found


def _records(body: bytes) -> Iterator[Message]:
    while body:
        size = int.from_bytes(body[:4], "big")
        yield Message.decode(body[:size])
        body = body[size:]


CASES = (
    Case("delay-pending", "a million waiting messages: memory, start after kill -9", 8, pending),
    Case("delay-lateness", "how late delayed and timed messages are", 4, lateness),
    Case("delay-due", "a million messages due at one moment", 10, due_at_once),
)
