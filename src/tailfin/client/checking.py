"""Messages that no broker would take are refused before they travel. No I/O."""

from collections.abc import Sequence

from tailfin.broker import names
from tailfin.client.errors import MessageRefused
from tailfin.client.messages import Message

MESSAGE_BYTES_MAX = 4 * 1024 * 1024


def check_group(group: str) -> None:
    """Raise ValueError for a group's name that cannot work."""
    if trouble := names.group_trouble(group):
        raise ValueError(f"{trouble} Give the group a name such as 'shop-orders'.")
    if group == "DEFAULT_PRODUCER":
        raise ValueError("the group DEFAULT_PRODUCER is RocketMQ's placeholder: give your group a name")


def check_topic(topic: str) -> None:
    """Raise MessageRefused for a topic that cannot be sent to."""
    if trouble := names.topic_trouble(topic):
        raise MessageRefused(trouble)
    if topic in names.NO_CLIENT_MAY_SEND:
        raise MessageRefused(f"the topic {topic} is RocketMQ's own: clients cannot send to it")


def check_body(body: bytes, limit: int) -> None:
    """Raise MessageRefused for a body that is empty or too large."""
    if not body:
        raise MessageRefused("the message body length is zero: RocketMQ takes no empty messages")
    if len(body) > limit:
        raise MessageRefused(
            f"the message body size over max value, MAX: {limit}: this one has {len(body)} bytes; send a "
            "reference to it instead, or raise max_message_size here and maxMessageSize at the broker"
        )


def check_message(message: Message, limit: int = MESSAGE_BYTES_MAX) -> None:
    """Raise MessageRefused, with a text that says what is wrong with a message."""
    if not isinstance(message, Message):
        raise TypeError(f'what is sent is a tailfin.Message("topic", body), not {message!r:.40}')
    check_topic(message.topic)
    check_body(message.body, limit)
    if "/" in (message.properties.get("INNER_MULTI_DISPATCH") or ""):
        raise MessageRefused("the names in INNER_MULTI_DISPATCH cannot contain '/'")


def check_batch(messages: Sequence[Message], limit: int = MESSAGE_BYTES_MAX) -> None:
    """Raise MessageRefused for messages that cannot be one batch; the text and `.index` say which."""
    if not messages:
        raise MessageRefused("a batch of no messages")
    for message in messages:
        if not isinstance(message, Message):
            raise TypeError(f'a batch is of tailfin.Message("topic", body), not of {message!r:.40}')
    topic, waits = messages[0].topic, messages[0].properties.get("WAIT")
    for index, message in enumerate(messages):
        try:
            check_message(message, limit)
        except MessageRefused as error:
            raise MessageRefused(str(error), index) from None
        if message.topic != topic:
            raise MessageRefused(f"its topic is {message.topic!r}, the first one's {topic!r}", index)
        if message.topic.startswith(names.RETRY_PREFIX):
            raise MessageRefused("messages to a retry topic cannot be sent as a batch", index)
        if message.properties.get("WAIT") != waits:
            raise MessageRefused("its `wait` is not that of the first one", index)
        if message.properties.keys() & DELAYED:
            raise MessageRefused("delayed messages cannot be sent as a batch: send them one by one", index)
        if message.properties.get("TRAN_MSG") == "true":
            raise MessageRefused("messages of transactions cannot be sent as a batch", index)


DELAYED = {"DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"}
"""Properties of messages that arrive later."""


def split_batch(sizes: Sequence[int], limit: int) -> list[slice]:
    """Cut a batch of messages with these encoded sizes into parts that are not over the limit.

    A message that is over it alone gets a part of its own.

    Example:
        >>> split_batch([4, 4, 4], 8)
        [slice(0, 2, None), slice(2, 3, None)]
    """
    parts = []
    start = total = 0
    for index, size in enumerate(sizes):
        if total and total + size > limit:
            parts.append(slice(start, index))
            start, total = index, 0
        total += size
    if total:
        parts.append(slice(start, len(sizes)))
    return parts
