"""What follows a pull, and what becomes of a message that its handler could not consume."""

from enum import Enum
from typing import NamedTuple

from tailfin.wire.codes import ResponseCode

FLOW_CONTROL_PAUSE_S = 0.02
TROUBLE_PAUSE_S = 3.0
RETRIES_DEFAULT = 16
FIRST_RETRY_LEVEL = 3


class Next(Enum):
    """What to do after a pull."""

    PULL = "pull"
    """Pull again from where the answer says."""
    MOVE = "move"
    """The offset is outside the queue: go to the one the answer gives, and commit it."""
    WAIT = "wait"
    """Pull again from the same offset after a pause."""


class Verdict(NamedTuple):
    """What follows, after how many seconds."""

    next: Next
    pause_s: float


def after_pull(code: int, trouble_pause_s: float = TROUBLE_PAUSE_S) -> Verdict:
    """Judge the response code of a pull; negative codes are requests without an answer."""
    if code in (ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY):
        return Verdict(Next.PULL, 0.0)
    if code == ResponseCode.PULL_OFFSET_MOVED:
        return Verdict(Next.MOVE, 0.0)
    if code == ResponseCode.FLOW_CONTROL:
        return Verdict(Next.WAIT, FLOW_CONTROL_PAUSE_S)
    return Verdict(Next.WAIT, trouble_pause_s)


class Fate(Enum):
    """What becomes of a message that its handler could not consume."""

    HAND_BACK = "hand back"
    """The broker stores it again for later."""
    SEND_TO_RETRY = "send to retry"
    """It is sent to the group's retry topic, since it could not be handed back."""
    KEEP = "keep"
    """It stays here, and its handler gets it again after a while."""
    DROP = "drop"
    """Nothing: every other reader has its own copy."""
    DEAD_LETTER = "dead letter"
    """It goes to the group's dead letters."""


def fate_concurrent(*, broadcast: bool, tried: tuple[Fate, ...] = ()) -> Fate:
    """Decide the next thing to try with a failed message; `tried` are the ones that did not work."""
    if broadcast:
        return Fate.DROP
    for fate in (Fate.HAND_BACK, Fate.SEND_TO_RETRY):
        if fate not in tried:
            return fate
    return Fate.KEEP


def fate_orderly(reconsume_times: int, retries_max: int) -> Fate:
    """Decide about a failed message of an ordered queue, which otherwise keeps those behind it waiting."""
    if 0 <= retries_max <= reconsume_times:
        return Fate.DEAD_LETTER
    return Fate.KEEP


def retries_allowed(max_reconsume_times: int, *, orderly: bool) -> int:
    """Return how often a message is tried again; -1 as a limit for ever."""
    if max_reconsume_times != -1:
        return max_reconsume_times
    return -1 if orderly else RETRIES_DEFAULT


def retry_level(reconsume_times: int) -> int:
    """Return the delay level of a message sent to the retry topic, as the broker would choose it."""
    return FIRST_RETRY_LEVEL + reconsume_times
