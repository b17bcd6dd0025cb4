"""What was acknowledged is there after a kill, at whatever moment that comes."""

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

from tailfin.broker.address import free_port
from tailfin.broker.topics import TopicTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.codes import Code
from tests.unit.broker.talking import OK, Talker, eventually
from tests.unit.loops import in_loop

KILLS = 8


def write_and_be_killed(folder: Path, prefix: str, after: int) -> list[str]:
    """Return what the process said before it was killed, `after` lines or somewhat more."""
    command = [sys.executable, "-m", "tests.unit.broker.topic_writer", str(folder), prefix]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline().rstrip("\n") for _ in range(after)]
        writer.send_signal(signal.SIGKILL)
        said += [line.rstrip("\n") for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -signal.SIGKILL
    return said


def test_acknowledged_changes_survive_kill_after_kill(tmp_path: Path) -> None:
    chance = random.Random(4)
    made: set[str] = set()
    deleted: set[str] = set()
    doubtful: set[str] = set()
    for turn in range(KILLS):
        for line in write_and_be_killed(tmp_path, f"T{turn}-", chance.randrange(1, 1500)):
            {"+": made, "-": deleted, "?": doubtful}[line[0]].add(line[1:])
        topics = TopicTable(tmp_path, BrokerConfig())
        topics.load()
        there = {topic.topic_name for topic in topics.all()}
        assert made - doubtful <= there
        assert not deleted & there
    assert len(made) > KILLS


async def started(data: Path, ports: tuple[int, int]) -> asyncio.subprocess.Process:
    where = ("--data", str(data), "--port", str(ports[0]), "--broker-port", str(ports[1]))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tailfin", "start", *where, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert b"Tailfin is running" in await process.stdout.readline()
    return process


@in_loop
async def test_topics_that_a_killed_broker_acknowledged_are_there_when_it_starts_again(
    tmp_path: Path,
) -> None:
    ports = free_port("127.0.0.1"), free_port("127.0.0.1")
    acknowledged: list[str] = []

    async def make(talker: Talker, prefix: str) -> None:
        for number in range(10_000):
            name = f"{prefix}-{number}"
            fields = {"topic": name, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1}
            more = {"perm": 6, "topicFilterType": "SINGLE_TAG", "order": "false"}
            if (await talker.ask(Code.UPDATE_AND_CREATE_TOPIC, {**fields, **more})).code == OK:
                acknowledged.append(name)

    async def enough() -> bool:
        return len(acknowledged) > 300

    broker = await started(tmp_path, ports)
    talker = Talker(f"127.0.0.1:{ports[1]}")
    makers = [asyncio.create_task(make(talker, f"T{each}")) for each in range(8)]
    await eventually(enough)
    broker.kill()
    await broker.wait()
    await asyncio.gather(*makers, return_exceptions=True)
    await talker.client.stop()
    broker = await started(tmp_path, ports)
    try:
        talker = Talker(f"127.0.0.1:{ports[1]}")
        for name in acknowledged:
            assert (await talker.ask(Code.GET_TOPIC_CONFIG, {"topic": name})).code == OK
        await talker.client.stop()
    finally:
        broker.terminate()
        await broker.wait()
    assert not list(tmp_path.rglob("*.journal"))
