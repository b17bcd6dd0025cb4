"""When a half is due, by its words and the clock."""

import pytest

from tailfin.broker.transactions.judging import Rules, Verdict, is_late, judge
from tailfin.message import Message, encode_record

NOW = 1_800_000_000_000
RULES = Rules(now_ms=NOW, round_began_ms=NOW - 10, timeout_ms=6000, checks_max=15, age_max_ms=72 * 3_600_000)


def half(age_ms: int, stored_ms_ago: int = 5000, **properties: str) -> Message:
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    record = encode_record(
        topic="RMQ_SYS_TRANS_HALF_TOPIC",
        body=b"x",
        properties=text.encode(),
        born_timestamp=NOW - age_ms,
        store_timestamp=NOW - stored_ms_ago,
    )
    return Message.decode(record)


CASES = {
    "young": (half(6000), Verdict.NOT_YET),
    "of age": (half(6001), Verdict.ASK),
    "born in the future": (half(-1), Verdict.ASK),
    "stored in this round": (half(60_000, stored_ms_ago=10), Verdict.NOT_YET),
    "asked often": (half(60_000, TRANSACTION_CHECK_TIMES="14"), Verdict.ASK),
    "asked too often": (half(60_000, TRANSACTION_CHECK_TIMES="15"), Verdict.GIVE_UP),
    "asked too often, in this round": (
        half(60_000, stored_ms_ago=0, TRANSACTION_CHECK_TIMES="15"),
        Verdict.GIVE_UP,
    ),
    "strange number of questions": (half(60_000, TRANSACTION_CHECK_TIMES="many"), Verdict.ASK),
    "too old for the log": (half(73 * 3_600_000), Verdict.GIVE_UP),
    "within its own time": (half(60_000, CHECK_IMMUNITY_TIME_IN_SECONDS="60"), Verdict.IMMUNE),
    "after its own time": (half(60_001, CHECK_IMMUNITY_TIME_IN_SECONDS="60"), Verdict.ASK),
    "no time at all": (half(1, CHECK_IMMUNITY_TIME_IN_SECONDS="0"), Verdict.ASK),
    "strange own time": (half(6000, CHECK_IMMUNITY_TIME_IN_SECONDS="long"), Verdict.IMMUNE),
    "strange own time, of age": (half(6001, CHECK_IMMUNITY_TIME_IN_SECONDS="long"), Verdict.ASK),
}


@pytest.mark.parametrize(("message", "verdict"), CASES.values(), ids=CASES.keys())
def test_verdict(message: Message, verdict: Verdict) -> None:
    assert judge(message, RULES) is verdict


@pytest.mark.parametrize(
    ("message", "late"),
    [
        (half(10**9), False),
        (half(60_000, CHECK_IMMUNITY_TIME_IN_SECONDS="60"), False),
        (half(60_001, CHECK_IMMUNITY_TIME_IN_SECONDS="60"), True),
        (half(6000, CHECK_IMMUNITY_TIME_IN_SECONDS="1"), False),
        (half(6001, CHECK_IMMUNITY_TIME_IN_SECONDS="1"), True),
        (half(6001, CHECK_IMMUNITY_TIME_IN_SECONDS="long"), True),
    ],
)
def test_only_who_named_a_time_can_be_late(message: Message, late: bool) -> None:
    assert is_late(message, NOW - message.born_timestamp, 6000) is late
