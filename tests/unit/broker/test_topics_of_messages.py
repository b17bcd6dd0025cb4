"""Topics that messages make: they are on disk before the message is acknowledged."""

import asyncio
import threading
from pathlib import Path

import pytest

from tailfin.broker.journal import Journal
from tailfin.wire.codes import Code
from tests.unit.broker.talking import OK, running
from tests.unit.loops import in_loop, until

WRITE_WITHIN_S = 20


@pytest.mark.parametrize("handed_back", [False, True], ids=["sent", "handed back"])
@in_loop
async def test_a_message_waits_for_the_topic_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handed_back: bool
) -> None:
    disk, append = threading.Event(), Journal.append

    def write_slowly(journal: Journal, lines: list[bytes]) -> None:
        assert disk.wait(WRITE_WITHIN_S)
        append(journal, lines)

    async with running(tmp_path) as (_, broker, talker):
        await talker.send("Known")
        (message,) = await talker.read("Known", 1)
        await broker.topics_settled()
        monkeypatch.setattr(Journal, "append", write_slowly)
        if handed_back:
            topic = "%RETRY%G"
            fields = {
                "offset": message.physical_offset,
                "group": "G",
                "delayLevel": 0,
                "originTopic": "Known",
            }
            asking = asyncio.create_task(talker.ask(Code.CONSUMER_SEND_MSG_BACK, fields))
        else:
            topic = "New"
            asking = asyncio.create_task(talker.send(topic))
        await until(lambda: topic in broker.topics, "the topic to be made")
        # What is asked later on the same connection is answered meanwhile.
        assert (await talker.ask(Code.GET_BROKER_CONFIG)).code == OK
        assert not asking.done()
        if not handed_back:
            later = asyncio.create_task(talker.send(topic, b"later"))
            assert (await talker.ask(Code.GET_BROKER_CONFIG)).code == OK
            assert (await talker.send("Known")).code == OK
            assert not later.done()
        disk.set()
        assert (await asking).code == OK
        if not handed_back:
            assert (await later).code == OK
        assert not broker.topics.unkept
