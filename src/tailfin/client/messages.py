"""Messages as users make and get them."""

from collections.abc import Iterable, Mapping

from tailfin._engine import OutgoingMessage as Message
from tailfin._engine import ReceivedMessage, decode_messages

__all__ = ["Message", "ReceivedMessage", "encoded_size", "read_message", "with_properties"]

_ENTRY_BYTES = 22
_UNIQUE_KEY_BYTES = 42


def encoded_size(message: Message) -> int:
    """Return how many bytes a message takes in a batch, its unique key included."""
    texts = sum(len(name.encode()) + len(value.encode()) + 2 for name, value in message.properties.items())
    return _ENTRY_BYTES + len(message.body) + texts + _UNIQUE_KEY_BYTES


def with_properties(message: Message, changes: Mapping[str, str], *, without: Iterable[str] = ()) -> Message:
    """Return a copy with some properties set and others left out; the user's message stays as it is."""
    properties = {**message.properties, **changes}
    for name in without:
        properties.pop(name, None)
    return Message(message.topic, message.body, properties=properties, flag=message.flag)


def read_message(record: bytes, *, broker: str, namespace: str | None) -> ReceivedMessage:
    """Read a stored message, as brokers send it along with a question."""
    (message,) = decode_messages(record, broker=broker, namespace=namespace)
    return message
