"""What follows a pull, and what becomes of a failed message."""

import pytest

from tailfin.client.consuming.judging import (
    Fate,
    Next,
    after_pull,
    fate_concurrent,
    fate_orderly,
    retries_allowed,
    retry_level,
)
from tailfin.wire.codes import ResponseCode


@pytest.mark.shows("PL-14", "PL-04")
@pytest.mark.parametrize(
    ("code", "then"),
    [
        (ResponseCode.SUCCESS, (Next.PULL, 0.0)),
        (ResponseCode.PULL_NOT_FOUND, (Next.PULL, 0.0)),
        (ResponseCode.PULL_RETRY_IMMEDIATELY, (Next.PULL, 0.0)),
        (ResponseCode.PULL_OFFSET_MOVED, (Next.MOVE, 0.0)),
        (ResponseCode.FLOW_CONTROL, (Next.WAIT, 0.02)),
        (ResponseCode.SUBSCRIPTION_NOT_EXIST, (Next.WAIT, 3.0)),
        (ResponseCode.RPC_TIME_OUT, (Next.WAIT, 3.0)),
    ],
)
def test_what_follows_a_pull(code: int, then: tuple[Next, float]) -> None:
    assert tuple(after_pull(code)) == then


def test_a_failed_message_is_handed_back_then_sent_then_kept() -> None:
    tried: tuple[Fate, ...] = ()
    ways = []
    for _ in range(3):
        ways.append(fate_concurrent(broadcast=False, tried=tried))
        tried = (*tried, ways[-1])
    assert ways == [Fate.HAND_BACK, Fate.SEND_TO_RETRY, Fate.KEEP]


@pytest.mark.shows("BC-03")
def test_a_broadcasting_consumer_skips_failed_messages() -> None:
    assert fate_concurrent(broadcast=True) is Fate.DROP


@pytest.mark.shows("RT-01")
def test_sixteen_retries_unless_told_otherwise_and_without_end_in_order() -> None:
    assert retries_allowed(-1, orderly=False) == 16
    assert retries_allowed(-1, orderly=True) == -1
    assert retries_allowed(3, orderly=True) == 3


def test_an_ordered_message_is_tried_again_until_its_limit() -> None:
    assert fate_orderly(0, -1) is Fate.KEEP
    assert fate_orderly(10**6, -1) is Fate.KEEP
    assert fate_orderly(2, 3) is Fate.KEEP
    assert fate_orderly(3, 3) is Fate.DEAD_LETTER
    assert fate_orderly(0, 0) is Fate.DEAD_LETTER


def test_messages_sent_to_retry_wait_as_the_broker_would_let_them() -> None:
    assert [retry_level(times) for times in (0, 1, 15)] == [3, 4, 18]
