"""What follows a try to send."""

from collections.abc import Sequence

import pytest

from tailfin.client.errors import SendFailed, SendTimeout
from tailfin.client.queues import Queue
from tailfin.client.retrying import Ended, RetryPolicy, Try, Verdict, pause_before, send_flow, share_of
from tailfin.wire.codes import ResponseCode as R

THREE = RetryPolicy(tries=3)


@pytest.mark.parametrize(
    "code", [R.SUCCESS, R.FLUSH_DISK_TIMEOUT, R.FLUSH_SLAVE_TIMEOUT, R.SLAVE_NOT_AVAILABLE]
)
def test_a_stored_message_is_done(code: int) -> None:
    assert THREE.judge(code, 1) is Verdict.DONE


def test_one_that_is_not_stored_as_it_should_be_is_sent_again_if_asked_for() -> None:
    policy = RetryPolicy(tries=2, unless_ok=True)
    assert policy.judge(R.FLUSH_DISK_TIMEOUT, 1) is Verdict.RETRY
    assert policy.judge(R.FLUSH_DISK_TIMEOUT, 2) is Verdict.DONE
    assert policy.judge(R.SUCCESS, 1) is Verdict.DONE


@pytest.mark.parametrize(
    "code", [17, 14, 1, 2, 16, 204, 205, 1500, R.RPC_TIME_OUT, R.RPC_SEND_TO_CHANNEL_FAILED]
)
def test_what_another_broker_might_take_is_tried_again_until_all_tries_are_made(code: int) -> None:
    assert [THREE.judge(code, made) for made in (1, 2, 3)] == [Verdict.RETRY, Verdict.RETRY, Verdict.FAIL]


def test_a_topic_that_one_broker_does_not_take_is_tried_at_another() -> None:
    assert THREE.judge(R.NO_PERMISSION, 1, "the topic[T] sending message is forbidden") is Verdict.RETRY


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        (R.SYSTEM_ERROR, "org.apache.rocketmq.acl.common.AclException: No accessKey is configured, validate"),
        (R.NO_PERMISSION, "User:nobody is not found."),
        (
            R.NO_PERMISSION,
            "User:vendor has no permission to access Topic:T from 10.0.0.1, no matched policies.",
        ),
    ],
)
def test_who_may_not_send_is_told_at_once(code: int, remark: str) -> None:
    assert THREE.judge(code, 1, remark) is Verdict.FAIL
    with pytest.raises(SendFailed, match=r"tried once.*check access_key and secret_key"):
        run([Ended(code, remark, 100.1)])


@pytest.mark.parametrize("code", [R.MESSAGE_ILLEGAL, R.REQUEST_CODE_NOT_SUPPORTED, 4711])
def test_what_every_broker_would_refuse_is_not_tried_again(code: int) -> None:
    assert THREE.judge(code, 1) is Verdict.FAIL


def test_the_first_try_does_not_eat_the_whole_time() -> None:
    assert share_of(3.0, 3) == 1.5
    assert share_of(1.5, 2) == 0.75
    assert share_of(0.75, 1) == 0.75


def run(ends: Sequence[Ended], policy: RetryPolicy = THREE, seconds: float = 3.0) -> list[Try]:
    """Play the given ends; return the tries that were made."""

    def choose(last_broker: str | None) -> Queue:
        return Queue("T", "b" if last_broker == "a" else "a", 0)

    flow = send_flow(choose, policy, now=100.0, seconds=seconds)
    tries = [next(flow)]
    try:
        for end in ends:
            tries.append(flow.send(end))  # noqa: PERF401  # a comprehension would turn the end into an error
    except StopIteration:
        pass
    return tries


OK = Ended(0, "", 100.1)
BUSY = Ended(R.SYSTEM_BUSY, "busy", 100.5)


def test_a_stored_message_needs_one_try_with_half_the_time() -> None:
    assert run([OK]) == [Try(Queue("T", "a", 0), 1.5)]


@pytest.mark.shows("PR-19", "PR-14")
def test_the_next_try_goes_to_another_broker_and_the_time_spent_is_gone() -> None:
    tries = run([BUSY, OK])
    assert [each.queue.broker for each in tries] == ["a", "b"]
    assert tries[1].seconds == pytest.approx(1.25)


def test_the_last_try_has_all_that_is_left() -> None:
    late = Ended(R.RPC_TIME_OUT, "no answer", 102.0)
    assert run([BUSY, late, OK])[-1].seconds == pytest.approx(1.0)


def test_a_broker_without_another_gets_time_to_come_back() -> None:
    assert pause_before(R.RPC_SEND_TO_CHANNEL_FAILED, True, 3.0, 2) == 1.0
    assert pause_before(R.RPC_SEND_TO_CHANNEL_FAILED, True, 2.0, 1) == 1.0
    assert pause_before(R.RPC_SEND_TO_CHANNEL_FAILED, False, 3.0, 2) == 0.0
    assert pause_before(R.RPC_TIME_OUT, True, 1.5, 2) == 0.0


def test_tries_at_the_only_broker_spread_over_the_time() -> None:
    gone = [
        Ended(R.RPC_SEND_TO_CHANNEL_FAILED, "refused", 100.0),
        Ended(R.RPC_SEND_TO_CHANNEL_FAILED, "refused", 101.0),
    ]
    flow = send_flow(lambda last_broker: Queue("T", "a", 0), THREE, now=100.0, seconds=3.0)
    assert next(flow).pause == 0.0
    tries = [flow.send(each) for each in gone]
    assert [each.pause for each in tries] == [1.0, 1.0]
    assert tries[-1].seconds == 1.0


def test_a_refusal_for_good_is_raised_with_its_code_and_what_to_do() -> None:
    with pytest.raises(
        SendFailed, match=r"'T': not sent, tried once, last at broker a: MESSAGE_ILLEGAL"
    ) as caught:
        run([Ended(R.MESSAGE_ILLEGAL, "no", 100.1)])
    assert (caught.value.code, caught.value.tries) == (R.MESSAGE_ILLEGAL, 1)
    with pytest.raises(SendFailed, match="send more slowly"):
        run([BUSY] * 3)


def test_no_answer_at_all_is_a_timeout_that_says_the_message_may_be_stored() -> None:
    with pytest.raises(SendTimeout, match="may be stored all the same") as caught:
        run([Ended(R.RPC_TIME_OUT, "silence", 104.0)])
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.tries == 1
