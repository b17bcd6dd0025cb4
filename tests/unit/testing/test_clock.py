"""A clock that is set forward, at a real broker: what was waiting is there, what comes later waits."""

import pytest

from tailfin.testing import Cluster, cluster, until
from tailfin.wire.codes import Code
from tailfin.wire.headers.send import EndTransactionRequestHeader
from tests.unit.broker.talking import OK
from tests.unit.testing.calling import talking

HOUR = 3600.0


@pytest.mark.parametrize(
    "asked",
    [
        {"DELAY": "17"},  # an hour
        {"TIMER_DELAY_SEC": "3600"},
        {"TIMER_DELAY_MS": "3600000"},
    ],
    ids=["level", "timer s", "timer ms"],
)
def test_what_waits_is_delivered_when_the_clock_is_set_forward(asked: dict[str, str]) -> None:
    with cluster() as running, talking(running) as calls:
        calls.send(b"early", **asked)
        until(lambda: running.waiting() == 1)
        assert calls.bodies() == []
        running.clock.advance(HOUR + 1)
        until(lambda: calls.bodies() == [b"early"])
        assert running.waiting() == 0
        # By now the broker's clock is ahead: another one waits its hour all the same.
        calls.send(b"late", **asked)
        calls.send(b"at once")
        until(lambda: b"at once" in calls.bodies())
        running.clock.advance(HOUR / 2)
        calls.send(b"half an hour later")
        until(lambda: b"half an hour later" in calls.bodies())
        assert b"late" not in calls.bodies()
        assert running.waiting() == 1
        running.clock.advance(HOUR / 2 + 1)
        until(lambda: b"late" in calls.bodies())


def test_weeks_are_one_leap_too() -> None:
    with cluster(timerMaxDelaySec=40 * 24 * 3600) as running, talking(running) as calls:
        for days in (1, 3, 20):
            calls.send(b"%d" % days, TIMER_DELAY_SEC=str(days * 24 * 3600))
        until(lambda: running.waiting() == 3)
        running.clock.advance(21 * 24 * HOUR)
        until(lambda: sorted(calls.bodies()) == [b"1", b"20", b"3"])


def test_a_time_that_has_come_by_the_clock_is_no_reason_to_wait() -> None:
    with cluster() as running, talking(running) as calls:
        deliver = running.clock.now_ms() + 30 * 60 * 1000
        running.clock.advance(HOUR)
        calls.send(b"past", TIMER_DELIVER_MS=str(deliver))
        until(lambda: calls.bodies() == [b"past"])


def test_what_a_handler_gave_back_comes_again_when_its_level_is_over() -> None:
    with cluster() as running, talking(running) as calls:
        sent = calls.send(b"try")
        until(lambda: calls.bodies() == [b"try"])
        offset = str(calls.found()[0].physical_offset)
        back = {"offset": offset, "group": "G", "delayLevel": "0", "originTopic": "T"}
        assert calls.ask(Code.CONSUMER_SEND_MSG_BACK, back).code == OK, sent
        until(lambda: running.waiting() == 1)
        running.clock.advance(10)
        until(lambda: calls.bodies("%RETRY%G") == [b"try"])


def test_producers_are_asked_for_open_transactions() -> None:
    with cluster() as running, talking(running) as calls:
        running.run(calls.talker.beat(producer="P"))
        prepared = calls.send(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="U")
        assert running.open_transactions() == 1
        until(lambda: running.broker.store.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0) == 1)
        running.clock.advance(31)
        until(lambda: [each.code for each in calls.talker.heard] == [Code.CHECK_TRANSACTION_STATE])
        end = EndTransactionRequestHeader(
            producer_group="P",
            tran_state_table_offset=int(calls.talker.heard[0].fields["tranStateTableOffset"]),
            commit_log_offset=int(calls.talker.heard[0].fields["commitLogOffset"]),
            commit_or_rollback=8,
            from_transaction_check=True,
            msg_id="U",
            transaction_id=prepared.fields["transactionId"],
        )
        assert calls.ask(Code.END_TRANSACTION, end.encode()).code == OK
        until(lambda: calls.bodies() == [b"x"])
        assert running.open_transactions() == 0


def test_a_message_can_be_recalled_by_the_brokers_time() -> None:
    with cluster(recallMessageEnable=True) as running, talking(running) as calls:
        running.clock.advance(HOUR)
        kept = calls.send(b"kept", TIMER_DELAY_SEC="60", UNIQ_KEY="K")
        recalled = calls.send(b"recalled", TIMER_DELAY_SEC="60", UNIQ_KEY="R")
        until(lambda: running.waiting() == 2)
        fields = {"producerGroup": "P", "topic": "T", "recallHandle": recalled.fields["recallHandle"]}
        assert calls.ask(Code.RECALL_MESSAGE, fields).code == OK
        until(lambda: running.waiting() == 1)
        running.clock.advance(62)
        until(lambda: calls.bodies() == [b"kept"])
        too_late = calls.ask(Code.RECALL_MESSAGE, {**fields, "recallHandle": kept.fields["recallHandle"]})
        assert "time has come" in str(too_late.remark)


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_clock_goes_only_forward(seconds: float) -> None:
    with cluster() as running, pytest.raises(ValueError, match="set forward"):
        running.clock.advance(seconds)


def test_the_clusters_own_thread_cannot_wait_for_itself() -> None:
    async def inside(running: Cluster) -> None:
        running.clock.advance(1)

    with cluster() as running, pytest.raises(RuntimeError, match="the test's own thread"):
        running.run(inside(running))


def test_until_says_what_it_waited_for_in_vain() -> None:
    with pytest.raises(AssertionError, match=r"waited in vain for 0\.01 s: the condition still gives \[\]"):
        until(list[int], timeout=0.01)
