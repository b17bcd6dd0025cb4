"""Messages that no broker would take."""

import pytest

from tailfin.client.checking import check_batch, check_group, check_message, split_batch
from tailfin.client.messages import Message
from tailfin.errors import MessageRefused


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message("", b"x"), "topic is blank"),
        (Message("a b", b"x"), "illegal characters"),
        (Message("t" * 128, b"x"), "longer than topic max length 127"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "RocketMQ's own"),
        (Message("RMQ_SYS_TRANS_HALF_TOPIC", b"x"), "RocketMQ's own"),
        (Message("T", b""), "the message body length is zero"),
        (Message("T", b"x" * 11), r"the message body size over max value, MAX: 10: this one has 11 bytes"),
        (Message("T", b"x", properties={"INNER_MULTI_DISPATCH": "a/b"}), "cannot contain '/'"),
    ],
)
@pytest.mark.shows("PR-04")
def test_a_message_no_broker_would_take_is_refused(message: Message, text: str) -> None:
    with pytest.raises(MessageRefused, match=text):
        check_message(message, 10)
    assert issubclass(MessageRefused, ValueError)


def test_good_messages_pass() -> None:
    check_message(Message("%RETRY%" + "g" * 200, b"x" * 10), 10)
    check_batch([Message("T", b"1"), Message("T", b"2", tags="a")])


@pytest.mark.parametrize("group", ["", " ", "a b", "DEFAULT_PRODUCER", "g" * 256])
@pytest.mark.shows("PR-02")
def test_a_group_needs_a_name(group: str) -> None:
    with pytest.raises(ValueError, match="group"):
        check_group(group)


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (Message("U", b"x"), r"message 1 of the batch: its topic is 'U'"),
        (Message("T", b"x", wait=False), "`wait`"),
        (Message("T", b"x", delay_level=3), "delayed"),
        (Message("T", b"x", delay=1.0), "delayed"),
        (Message("T", b"x", deliver_at=1), "delayed"),
        (Message("T", b"x", properties={"TRAN_MSG": "true"}), "transactions"),
        (Message("T", b""), "message 1 of the batch: the message body length is zero"),
    ],
)
@pytest.mark.shows("PR-16")
def test_what_cannot_be_one_batch_is_refused_by_place(second: Message, text: str) -> None:
    with pytest.raises(MessageRefused, match=text) as caught:
        check_batch([Message("T", b"x"), second])
    assert caught.value.index == 1


def test_a_batch_to_a_retry_topic_or_of_nothing_is_refused() -> None:
    with pytest.raises(MessageRefused, match="retry topic"):
        check_batch([Message("%RETRY%g", b"x")])
    with pytest.raises(MessageRefused, match="no messages"):
        check_batch([])


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([], []),
        ([10], [slice(0, 1)]),
        ([5, 5], [slice(0, 2)]),
        ([5, 6], [slice(0, 1), slice(1, 2)]),
        ([1, 1, 9, 1, 9], [slice(0, 2), slice(2, 4), slice(4, 5)]),
        ([11, 1], [slice(0, 1), slice(1, 2)]),
    ],
)
def test_a_batch_is_cut_into_parts_that_fit(sizes: list[int], parts: list[slice]) -> None:
    assert split_batch(sizes, 10) == parts
