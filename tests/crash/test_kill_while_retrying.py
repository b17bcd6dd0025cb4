"""Messages handed back over kill after kill of the broker: each comes again once, none is lost."""

import asyncio
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tailfin.broker.address import free_port
from tailfin.message import Message
from tailfin.wire.codes import Code
from tests.crash import broker_process
from tests.unit.broker.talking import OK, Talker, eventually, messages
from tests.unit.loops import in_loop

KILLS = int(os.environ.get("TAILFIN_KILLS", "200")) // 33
HANDS = 6
MESSAGES = 400
SETTINGS = {
    "messageDelayLevel": "1s 1s 1s 1s",
    "mappedFileSizeCommitLog": 1 << 20,
    "maxHashSlotNum": 5000,
    "maxIndexNum": 20_000,
}
RETRY_LEVEL, RETRY, DEAD = 3, "%RETRY%G", "%DLQ%G"


@dataclass
class HandedBack:
    """What was handed back, by message: acknowledged, or in doubt because the broker went."""

    acknowledged: dict[str, set[str]] = field(default_factory=lambda: {RETRY: set(), DEAD: set()})
    doubtful: dict[str, set[str]] = field(default_factory=lambda: {RETRY: set(), DEAD: set()})


async def end_of(talker: Talker, topic: str, queue_id: int = 0) -> int:
    answer = await talker.ask(Code.GET_MAX_OFFSET, {"topic": topic, "queueId": queue_id})
    return int(answer.fields["offset"])


async def everything(talker: Talker, topic: str) -> list[Message]:
    found: list[Message] = []
    while len(found) < await end_of(talker, topic):
        found += messages((await talker.pull(topic, offset=len(found))).body)
    return found


async def hand_back(talker: Talker, waiting: list[Message], seen: HandedBack) -> None:
    """Hand each message back once; each fifth one is given up."""
    while waiting:
        message = waiting.pop()
        name = message.body.decode()
        gives_up = int(name.split("-")[1]) % 5 == 0
        where = DEAD if gives_up else RETRY
        seen.doubtful[where].add(name)
        fields = {"offset": message.physical_offset, "group": "G", "delayLevel": -1 if gives_up else 0}
        answer = await talker.ask(Code.CONSUMER_SEND_MSG_BACK, {**fields, "originTopic": "T"})
        if answer.code == OK:
            seen.doubtful[where].discard(name)
            seen.acknowledged[where].add(name)


@in_loop
async def test_messages_handed_back_survive_kill_after_kill_and_come_again_once(tmp_path: Path) -> None:
    chance = random.Random(11)
    ports = free_port("127.0.0.1"), free_port("127.0.0.1")
    seen, sent = HandedBack(), 0
    for turn in range(KILLS):
        async with broker_process.running(tmp_path, ports, SETTINGS) as (process, talker):
            for number in range(MESSAGES):
                answer = await talker.send("T", f"{turn}-{number}".encode(), queues=1)
                assert answer.code == OK
            sent += MESSAGES
            waiting = (await everything(talker, "T"))[-MESSAGES:]
            hands = [asyncio.create_task(hand_back(talker, waiting, seen)) for _ in range(HANDS)]
            left = chance.randrange(MESSAGES)
            # Also a while after the last one, when the first of them are delivered.
            pause = 1.0 if turn % 3 == 2 else 0.0

            async def killing_time(left: int = left, waiting: list[Message] = waiting) -> bool:
                return len(waiting) <= left

            await eventually(killing_time)
            await asyncio.sleep(pause)  # the moment of the kill, whatever is under way then
            process.kill()
            await process.wait()
            await asyncio.gather(*hands, return_exceptions=True)
    async with broker_process.running(tmp_path, ports, SETTINGS) as (_, talker):

        async def all_delivered() -> bool:
            delayed = await end_of(talker, "SCHEDULE_TOPIC_XXXX", RETRY_LEVEL - 1)
            return await end_of(talker, RETRY) >= delayed >= len(seen.acknowledged[RETRY])

        await eventually(all_delivered, 60)
        found = {topic: await everything(talker, topic) for topic in (RETRY, DEAD)}
    for topic, letters in found.items():
        names = Counter(message.body.decode() for message in letters)
        assert len(seen.acknowledged[topic]) > 20 * KILLS
        assert seen.acknowledged[topic] - names.keys() == set(), "lost"
        assert [name for name, times in names.items() if times > 1] == [], "doubled"
        assert names.keys() <= seen.acknowledged[topic] | seen.doubtful[topic]
        assert {message.reconsume_times for message in letters} == {1}
        assert all(message.get_property("ORIGIN_MESSAGE_ID") for message in letters)
