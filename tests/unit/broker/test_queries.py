"""Looking messages up: by key, unique key, tag and id, within a time and a number."""

from pathlib import Path

import pytest

from tailfin.message import Message
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, Talker, eventually, messages, running
from tests.unit.loops import in_loop

EVER = (1 << 63) - 1


async def query(talker: Talker, key: str, *, limit: int = 64, **more: object) -> Frame:
    asked = {"topic": "T", "key": key, "maxNum": limit, "beginTimestamp": 0, "endTimestamp": EVER}
    return await talker.ask(Code.QUERY_MESSAGE, {**asked, **more})


def bodies(found: list[Message]) -> list[bytes]:
    return [message.body for message in found]


async def fill(talker: Talker, count: int) -> None:
    for number in range(count):
        properties = {"KEYS": f"all k{number}", "UNIQ_KEY": f"U{number}", "TAGS": "ab"[number % 2]}
        await talker.send("T", b"%d" % number, properties=properties)

    async def indexed() -> bool:
        return (await query(talker, f"k{count - 1}")).code == OK

    await eventually(indexed)


@pytest.mark.shows("QY-02", "QY-03", "QY-05", "IX-01")
@in_loop
async def test_message_is_found_by_each_key_and_the_newest_come_in_the_order_of_the_log(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await fill(talker, 70)
        everything = await query(talker, "all", limit=1000)
        assert bodies(messages(everything.body)) == [b"%d" % number for number in range(6, 70)]
        assert bodies(messages((await query(talker, "all", limit=3)).body)) == [b"67", b"68", b"69"]
        assert bodies(messages((await query(talker, "k7")).body)) == [b"7"]
        newest = broker.store.read("T", 0, 69)[0]
        answer = everything.fields
        assert answer["indexLastUpdateTimestamp"] == str(newest.store_timestamp)
        assert answer["indexLastUpdatePhyoffset"] == str(newest.physical_offset)
        unique = await query(talker, "U9", limit=0, _UNIQUE_KEY_QUERY="true")
        assert bodies(messages(unique.body)) == [b"9"]


@in_loop
async def test_no_more_messages_are_found_than_one_answer_holds(tmp_path: Path) -> None:
    async with running(tmp_path, frameMaxLength=100_000) as (_, _, talker):
        for number in range(6):
            await talker.send("T", b"%d" % number * 30_000, properties={"KEYS": "all"})

        async def newest() -> bool:
            found = messages((await query(talker, "all")).body)
            return [each.body[:1] for each in found] == [b"3", b"4", b"5"]

        await eventually(newest)


@in_loop
async def test_index_is_asked_by_the_kind_of_key(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await fill(talker, 6)
        assert bodies(messages((await query(talker, "b", indexType="T")).body)) == [b"1", b"3", b"5"]
        assert bodies(messages((await query(talker, "k3", indexType="K")).body)) == [b"3"]
        assert bodies(messages((await query(talker, "U3", indexType="U")).body)) == [b"3"]
        assert (await query(talker, "b", indexType="K")).code == ResponseCode.QUERY_NOT_FOUND
        wrong = await query(talker, "b", indexType="X")
        assert wrong.code == ResponseCode.INVALID_PARAMETER
        assert "'X'" in (wrong.remark or "")


@in_loop
async def test_time_range_leaves_out_what_was_stored_outside_of_it(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await fill(talker, 3)
        stored = [message.store_timestamp for message in broker.store.read("T", 0, 0)]
        within = await query(talker, "all", beginTimestamp=stored[0], endTimestamp=stored[-1])
        assert len(messages(within.body)) == 3
        for times in ({"endTimestamp": stored[0] - 1}, {"beginTimestamp": stored[-1] + 1}):
            assert (await query(talker, "all", **times)).code == ResponseCode.QUERY_NOT_FOUND
        assert (await query(talker, "all", topic="Other")).code == ResponseCode.QUERY_NOT_FOUND


@pytest.mark.shows("QY-01", "QY-04")
@in_loop
async def test_message_is_seen_at_its_place_in_the_log_and_nowhere_else(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await talker.send("T", b"first")
        await talker.send("T", b"second")
        (_, second) = await talker.read("T", 2)
        seen = await talker.ask(Code.VIEW_MESSAGE_BY_ID, {"offset": second.physical_offset})
        assert bodies(messages(seen.body)) == [b"second"]
        for offset in (second.physical_offset + 1, -1, 1 << 60):
            missed = await talker.ask(Code.VIEW_MESSAGE_BY_ID, {"offset": offset})
            assert missed.code == ResponseCode.SYSTEM_ERROR
