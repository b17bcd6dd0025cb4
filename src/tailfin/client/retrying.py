"""What to do after a try to send: decided here, done by the asyncio producer and by the blocking one."""

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from enum import Enum, auto

from tailfin.client.errors import UNREACHABLE, SendFailed, SendTimeout
from tailfin.client.queues import Queue
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    }
)
"""Codes of a message that the broker has."""

RETRY_CODES = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""Refusals that another broker may not share."""

ROUTE_CODES = frozenset(
    {ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION, ResponseCode.SERVICE_NOT_AVAILABLE}
)
"""Refusals of a broker whose route has changed, perhaps."""


def refuses_the_sender(code: int, remark: str) -> bool:
    """Whether a broker refuses whoever sends, and not what or where to: no other try would change that."""
    if code == ResponseCode.NO_PERMISSION:
        # Of a topic or a broker that takes no messages it says that sending "is forbidden".
        return bool(remark) and "forbidden" not in remark
    # Brokers of generation 4 have no code of its own for it.
    return code == ResponseCode.SYSTEM_ERROR and "AclException" in remark


class Verdict(Enum):
    """What follows a try."""

    DONE = auto()
    RETRY = auto()
    FAIL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to try again.

    Args:
        tries: how often at most, the first time included.
        codes: refusals after which another try makes sense.
        unless_ok: also when the message was stored, but not flushed or copied as the broker is set to.
    """

    tries: int = 3
    codes: Collection[int] = RETRY_CODES
    unless_ok: bool = False

    def judge(self, code: int, tries_made: int, remark: str = "") -> Verdict:
        """Say what follows a try that ended with this code and remark."""
        if code == ResponseCode.SUCCESS or (code in STORED and not self.unless_ok):
            return Verdict.DONE
        if refuses_the_sender(code, remark):
            return Verdict.FAIL
        if tries_made < self.tries and (code in self.codes or code in UNREACHABLE or code in STORED):
            return Verdict.RETRY
        return Verdict.DONE if code in STORED else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class Try:
    """One try: where to, for how long at most, and how long to wait before it."""

    queue: Queue
    seconds: float
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a try ended, and what time it is now (monotonic seconds)."""

    code: int
    remark: str
    now: float


def share_of(seconds_left: float, tries_left: int) -> float:
    """Return how long the next try may take: half of what is left, all of it if it is the last one.

    So a broker that does not answer leaves time for another.
    """
    return seconds_left if tries_left <= 1 else seconds_left / 2


def pause_before(code: int, same_broker: bool, seconds_left: float, tries_left: int) -> float:
    """Return how long to wait before another try.

    A broker that refused, or was not reached, gets time to come back when there is no other: the tries that
    are left spread over the time that is left. One that did not answer had its time already.
    """
    if not same_broker or code == ResponseCode.RPC_TIME_OUT:
        return 0.0
    return seconds_left / (tries_left + 1)


def send_flow(
    choose: Callable[[str | None], Queue], policy: RetryPolicy, *, now: float, seconds: float
) -> Generator[Try, Ended, None]:
    """Yield one try after the other, and take how each ended; return when the message is stored.

    Args:
        choose: gives the queue for a try, told the broker of the last one that failed.
        policy: when to try again.
        now: monotonic seconds.
        seconds: time for all tries together.

    Raises:
        SendTimeout: the time is over.
        SendFailed: a refusal that no retry would change, or all tries were made.
    """
    deadline = now + seconds
    last_broker: str | None = None
    last_code = 0
    for tries_made in range(1, policy.tries + 1):
        tries_left = policy.tries - tries_made + 1
        queue = choose(last_broker)
        pause = pause_before(last_code, queue.broker == last_broker, deadline - now, tries_left)
        ended = yield Try(queue, share_of(deadline - now - pause, tries_left), pause)
        verdict = policy.judge(ended.code, tries_made, ended.remark)
        if verdict is Verdict.DONE:
            return
        now, last_broker, last_code = ended.now, queue.broker, ended.code
        if verdict is Verdict.FAIL or now >= deadline:
            raise failure(ended, queue, tries_made, seconds)


def failure(ended: Ended, queue: Queue, tries: int, seconds: float) -> SendFailed:
    """Return the error to raise after the last try."""
    often = "once" if tries == 1 else f"{tries} times"
    why = RemotingError(ended.code, ended.remark)
    if ended.code == ResponseCode.RPC_TIME_OUT:
        text = (
            f"topic {queue.topic!r}: no acknowledgement within {seconds:g} s, tried {often}, last at broker "
            f"{queue.broker} ({ended.remark}); the message may be stored all the same"
        )
        return SendTimeout(text, code=ended.code, tries=tries)
    text = f"topic {queue.topic!r}: not sent, tried {often}, last at broker {queue.broker}: {why}"
    advice = _ADVICE.get(ended.code)
    if refuses_the_sender(ended.code, ended.remark):
        advice = "check access_key and secret_key, and what their account may do"
    if advice:
        text += f"; {advice}"
    return SendFailed(text, code=ended.code, tries=tries)


_ADVICE: dict[int, str] = {
    ResponseCode.NO_PERMISSION: "the topic or its broker takes no messages",
    ResponseCode.TOPIC_NOT_EXIST: "create the topic, or let brokers do it (autoCreateTopicEnable)",
    ResponseCode.SYSTEM_BUSY: "the broker cannot follow: send more slowly, or add brokers",
    ResponseCode.RPC_SEND_TO_CHANNEL_FAILED: "is the broker running, and can this host reach that address?",
}
