"""Delayed and timed messages over kill after kill of the broker: none is lost, none comes twice."""

import asyncio
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailfin.broker.address import free_port
from tailfin.store import Store
from tailfin.wire.codes import Code, ResponseCode
from tests.crash import broker_process
from tests.unit.broker.talking import Talker, eventually
from tests.unit.loops import in_loop

KILLS = int(os.environ.get("TAILFIN_KILLS", "200")) // 33
SENDERS = 6
QUEUES = 4
SETTINGS = {
    "messageDelayLevel": "1s 2s 3s",
    "timerPrecisionMs": 100,
    # Written down so often that kills fall between all steps of that.
    "flushDelayOffsetInterval": 150,
    "timerFlushIntervalMs": 130,
    "timerRollWindowSlot": 12,
    "mappedFileSizeTimerLog": 4096,
    "mappedFileSizeCommitLog": 1 << 20,
    "maxHashSlotNum": 5000,
    "maxIndexNum": 20_000,
}


@dataclass
class Sent:
    """What was sent, by whether it was acknowledged."""

    acknowledged: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)


def waits(number: int, chance: random.Random) -> tuple[str, dict[str, str]]:
    """Return a topic and what to ask for: a level, a moment, or one that is past when the timer sees it."""
    if number % 2:
        return "Levels", {"DELAY": str(chance.randint(1, 3))}
    return "Timers", {"TIMER_DELAY_MS": str(chance.choice((1, 120, 700, 1500, 2600)))}


async def send(talker: Talker, sent: Sent, numbers: Iterator[int], chance: random.Random) -> None:
    for number in numbers:
        topic, asked = waits(number, chance)
        name = f"{topic}-{number}"
        sent.doubtful.add(name)
        properties = {**asked, "UNIQ_KEY": name}
        queue_id = number // 2 % QUEUES
        answer = await talker.send(topic, name.encode(), queue_id=queue_id, properties=properties)
        if answer.code == ResponseCode.SUCCESS:
            sent.doubtful.discard(name)
            sent.acknowledged.add(name)


async def arrived(talker: Talker) -> int:
    count = 0
    for topic, queue_id in itertools.product(("Levels", "Timers"), range(QUEUES)):
        answer = await talker.ask(Code.GET_MAX_OFFSET, {"topic": topic, "queueId": queue_id})
        count += int(answer.fields["offset"])
    return count


def found(root: Path) -> Counter[str]:
    """Return every message that consumers can read, as often as it is there."""
    bodies: Counter[str] = Counter()
    with Store(root, mappedFileSizeCommitLog=1 << 20, maxHashSlotNum=5000, maxIndexNum=20_000) as store:
        for topic, queue_id in itertools.product(("Levels", "Timers"), range(QUEUES)):
            offset = store.min_offset(topic, queue_id)
            while len(read := store.read(topic, queue_id, offset, 1024, max_bytes=1 << 22)):
                bodies.update(message.body.decode() for message in read)
                offset = read.next_offset
    return bodies


@in_loop
async def test_waiting_messages_survive_kill_after_kill_and_arrive_once(tmp_path: Path) -> None:
    chance = random.Random(7)
    ports = free_port("127.0.0.1"), free_port("127.0.0.1")
    sent, numbers = Sent(), itertools.count()
    for _ in range(KILLS):
        async with broker_process.running(tmp_path, ports, SETTINGS) as (process, talker):
            senders = [asyncio.create_task(send(talker, sent, numbers, chance)) for _ in range(SENDERS)]
            await asyncio.sleep(
                chance.uniform(0.3, 2.5)
            )  # the moment of the kill, whatever is under way then
            process.kill()
            await process.wait()
            await asyncio.gather(*senders, return_exceptions=True)
    async with broker_process.running(tmp_path, ports, SETTINGS) as (_, talker):
        began = time.monotonic()

        async def all_there() -> bool:
            count = await arrived(talker)
            # Those in doubt may come too; the longest delay is 3 s.
            return count >= len(sent.acknowledged) and time.monotonic() - began > 4

        await eventually(all_there, 60)
    bodies = found(tmp_path / "broker-a")
    assert len(sent.acknowledged) > 100 * KILLS
    assert sent.acknowledged - bodies.keys() == set(), "lost"
    assert [name for name, times in bodies.items() if times > 1] == [], "doubled"
    assert bodies.keys() <= sent.acknowledged | sent.doubtful
