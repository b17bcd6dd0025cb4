"""Messages timed to any moment, and taking them back."""

import json
import time
from pathlib import Path

import pytest

from tailfin.broker.app import Broker
from tailfin.broker.waiting import slot_of
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.recall import RecallHandle
from tests.unit.broker.talking import OK, Talker, eventually, running
from tests.unit.loops import in_loop

FINE = {"timerPrecisionMs": 100}
"""Steps of a tenth of a second, so that nobody waits long."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def arrived(broker: Broker, topic: str, count: int, queue_id: int = 0) -> bool:
    async def there() -> bool:
        return broker.store.max_offset(topic, queue_id) >= count

    return await eventually(there)


async def recall(talker: Talker, topic: str, handle: str | None) -> tuple[int, str]:
    answer = await talker.ask(Code.RECALL_MESSAGE, {"topic": topic, "recallHandle": handle})
    return answer.code, answer.remark or answer.fields.get("msgId", "")


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        ("TIMER_DELAY_SEC", lambda: 1),
        ("TIMER_DELAY_MS", lambda: 700),
        ("TIMER_DELIVER_MS", lambda: now_ms() + 600),
    ],
    ids=["seconds", "milliseconds", "moment"],
)
@in_loop
async def test_a_timed_message_arrives_where_it_belongs_and_never_early(
    tmp_path: Path, ask: str, value: object
) -> None:
    async with running(tmp_path, **FINE) as (_, broker, talker):
        begun = now_ms()
        asked = value()  # type: ignore[operator]
        due = (
            asked if ask == "TIMER_DELIVER_MS" else begun + asked * (1000 if ask == "TIMER_DELAY_SEC" else 1)
        )
        sent = await talker.send(
            "T", b"later", queue_id=2, properties={ask: str(asked), "TAGS": "a", "UNIQ_KEY": "U"}
        )
        assert (sent.code, sent.fields["queueId"]) == (OK, "2")
        assert broker.store.max_offset("T", 2) == 0
        assert broker.store.max_offset("rmq_sys_wheel_timer", 0) == 1
        (message,) = await talker.read("T", 1, queue_id=2)
        assert message.store_timestamp >= due
        assert (message.body, message.tags, message.unique_key) == (b"later", "a", "U")
        properties = message.properties
        assert (properties["REAL_TOPIC"], properties["REAL_QID"], properties[ask]) == ("T", "2", str(asked))
        assert int(properties["TIMER_OUT_MS"]) % 100 == 0
        assert int(properties["TIMER_ENQUEUE_MS"]) <= int(properties["TIMER_DEQUEUE_MS"])


@in_loop
async def test_a_message_whose_time_is_past_is_stored_like_any_other(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        sent = await talker.send("T", properties={"TIMER_DELIVER_MS": str(now_ms() - 1000)})
        assert sent.code == OK
        assert "recallHandle" not in sent.fields
        (message,) = await talker.read("T", 1)
        assert "TIMER_OUT_MS" not in message.properties
        assert broker.store.max_offset("rmq_sys_wheel_timer", 0) == 0


@pytest.mark.parametrize(
    ("properties", "settings", "code", "text"),
    [
        ({"TIMER_DELAY_SEC": "259201"}, {}, 13, "timerMaxDelaySec allows 259200 s"),
        ({"TIMER_DELAY_MS": "11000"}, {"timerMaxDelaySec": 10}, 13, "timerMaxDelaySec allows 10 s"),
        ({"TIMER_DELAY_MS": "soon"}, {}, 13, "TIMER_DELAY_MS must be a whole number, not 'soon'"),
        ({"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "T+U"}, {}, 13, "must come before"),
        ({"TIMER_DELAY_MS": "9000"}, {"timerWheelEnable": False}, 1, "timerWheelEnable=false"),
    ],
)
@in_loop
async def test_a_time_that_cannot_be_is_refused_with_a_sentence(
    tmp_path: Path, properties: dict[str, str], settings: dict[str, object], code: int, text: str
) -> None:
    async with running(tmp_path, **settings) as (_, broker, talker):
        refused = await talker.send("T", properties=properties)
        assert refused.code == code
        assert text in (refused.remark or "")
        assert (await talker.send("T")).code == OK
        assert broker.store.max_offset("rmq_sys_wheel_timer", 0) == 0


@in_loop
async def test_timed_messages_that_are_turned_on_while_it_runs_are_taken_after_the_next_start(
    tmp_path: Path,
) -> None:
    asked = {"TIMER_DELAY_MS": "9000"}
    async with running(tmp_path, timerWheelEnable=False) as (_, broker, talker):
        assert (await talker.send("T")).code == OK
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"timerWheelEnable=true")).code == OK
        for _ in range(2):
            refused = await talker.send("T", properties=asked)
            assert refused.code == ResponseCode.SYSTEM_ERROR
            assert "timed messages are off on this broker (since its start)" in (refused.remark or "")
        assert broker.store.max_offset("rmq_sys_wheel_timer", 0) == 0
    async with running(tmp_path, timerWheelEnable=True) as (_, broker, talker):
        assert (await talker.send("T", properties=asked)).code == OK


@in_loop
async def test_a_changed_precision_waits_for_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path, **FINE) as (_, broker, talker):
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"timerPrecisionMs=1000")).code == OK
        deliver = (now_ms() + 60_000) // 1000 * 1000 + 700
        asked = {"TIMER_DELIVER_MS": str(deliver)}
        for _ in range(2):  # the first one makes the topic, by way of Python
            assert (await talker.send("T", properties=asked)).code == OK

        async def stored() -> bool:
            return broker.store.max_offset("rmq_sys_wheel_timer", 0) == 2

        await eventually(stored)
        waiting = broker.store.read("rmq_sys_wheel_timer", 0, 0)
        assert [int(message.properties["TIMER_OUT_MS"]) for message in waiting] == [deliver - 100] * 2


@in_loop
async def test_a_delay_level_wins_over_a_time(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s") as (_, broker, talker):
        await talker.send("T", properties={"DELAY": "1", "TIMER_DELAY_MS": "100"})
        (message,) = await talker.read("T", 1)
        assert "TIMER_DELAY_MS" not in message.properties
        assert broker.store.max_offset("rmq_sys_wheel_timer", 0) == 0


@in_loop
async def test_too_many_for_one_moment_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, timerCongestNumEachSlot=2) as (_, broker, talker):
        moment = {"TIMER_DELIVER_MS": str(now_ms() + 60_000)}

        async def refused() -> bool:
            sent = await talker.send("T", properties=moment)
            assert sent.code in (OK, ResponseCode.SYSTEM_ERROR)
            return sent.code != OK and "timerCongestNumEachSlot is 2" in (sent.remark or "")

        await eventually(refused)
        later = {"TIMER_DELIVER_MS": str(now_ms() + 120_000)}
        assert (await talker.send("T", properties=later)).code == OK
        assert broker.timers.figures()["OffsetBehind"] >= 0


@pytest.mark.shows("U-26")
@in_loop
async def test_a_recalled_message_never_arrives(tmp_path: Path) -> None:
    async with running(tmp_path, recallMessageEnable=True, **FINE) as (_, broker, talker):
        when = {"TIMER_DELIVER_MS": str(now_ms() + 1200)}
        handles = {}
        for key in ("A", "B", "C"):
            sent = await talker.send("T", key.encode(), properties={**when, "UNIQ_KEY": key})
            handles[key] = sent.fields["recallHandle"]
        assert await recall(talker, "T", handles["B"]) == (OK, "B")
        assert [message.body for message in await talker.read("T", 2)] == [b"A", b"C"]
        await arrived(broker, "T", 2)
        assert await recall(talker, "T", handles["A"]) == (
            ResponseCode.ILLEGAL_OPERATION,
            "recall failed: the message's time has come, or is not one that it can have",
        )
        assert broker.store.max_offset("T", 0) == 2


@in_loop
async def test_a_recall_that_cannot_be_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, recallMessageEnable=True) as (_, broker, talker):
        await talker.send("T")
        soon, name = now_ms() + 60_000, broker.config.brokerName
        good = RecallHandle("T", name, soon, "U")
        cases = [
            ("T", "no handle", 604, "none that a send was answered with"),
            (
                "T",
                RecallHandle("T", name, soon, "U").encode()[:-3],
                604,
                "none that a send was answered with",
            ),
            ("Other", good.encode(), 17, "there is no topic Other"),
            ("T", RecallHandle("U", name, soon, "U").encode(), 604, "the handle is for topic U"),
            ("T", RecallHandle("T", "elsewhere", soon, "U").encode(), 604, "waits at broker elsewhere"),
            ("T", RecallHandle("T", name, soon + 10**9, "U").encode(), 604, "not one that it can have"),
        ]
        for topic, handle, code, text in cases:
            answer = await recall(talker, topic, handle)
            assert (answer[0], text in answer[1]) == (code, True), answer
    async with running(tmp_path) as (_, broker, talker):
        assert await recall(talker, "T", good.encode()) == (
            ResponseCode.NO_PERMISSION,
            "recall failed: it is forbidden here (recallMessageEnable=false)",
        )


def test_a_handle_is_written_as_rocketmq_does() -> None:
    handle = RecallHandle("T", "b", 123, "UK")
    assert handle.encode() == "djEgVCBiIDEyMyBVSw=="
    assert RecallHandle.decode(handle.encode()) == handle
    for wrong in ("", "=", "djEgVCBi", "ü", "djIgVCBiIDEyMyBVSw=="):
        with pytest.raises(RemotingError):
            RecallHandle.decode(wrong)


def test_a_slot_is_over_at_the_first_step_that_is_not_before_the_time() -> None:
    assert [slot_of(time, 1000) for time in (5000, 5001, 5999, 6000)] == [4000, 5000, 5000, 5000]


@in_loop
async def test_how_far_the_timer_is_can_be_asked_and_survives_a_stop(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        assert len((await talker.ask(Code.GET_TIMER_CHECK_POINT)).body) == 56
        for n in range(3):
            await talker.send("T", properties={"TIMER_DELAY_SEC": str(1000 + n)})

        async def counted() -> bool:
            answer = await talker.ask(Code.GET_TIMER_METRICS)
            return bool(json.loads(answer.body)["timingCount"].get("T", {}).get("count") == 3)

        await eventually(counted)
        info = json.loads((await talker.ask(Code.GET_BROKER_RUNTIME_INFO)).body)["table"]
        assert (info["timerCongestNum"], info["timerOffsetBehind"]) == ("3", "0")
        folder = broker.config_folder
    metrics = json.loads((folder / "timermetrics").read_text())
    assert metrics["timingCount"]["T"]["count"] == 3
    image = (folder / "timercheck").read_bytes()
    assert len(image) == 4096
    assert [int.from_bytes(image[at : at + 8], "big") for at in (8, 16, 24)] == [3 * 52, 3, 3]
    async with running(tmp_path) as (_, broker, talker):
        assert (await talker.ask(Code.GET_TIMER_METRICS)).code == OK
        assert broker.timers.figures()["CongestNum"] == 3


@in_loop
async def test_a_timer_that_is_stopped_keeps_its_messages_until_it_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, timerStopDequeue=True, **FINE) as (_, broker, talker):
        await talker.send("T", properties={"TIMER_DELAY_MS": "100"})

        async def entered() -> bool:
            return broker.timers.figures()["CongestNum"] == 1

        await eventually(entered)
        assert broker.store.max_offset("T", 0) == 0
        await broker.apply(broker.settings.changed({"timerStopDequeue": "false"}))
        await talker.read("T", 1)
