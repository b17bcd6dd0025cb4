"""Messages as users make them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from tailfin.message import Message as ReceivedMessage

__all__ = ["Message", "ReceivedMessage", "encoded_size", "set_property", "with_properties"]


class Message:
    """A message to send."""

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: bytes,
        *,
        tags: str | None = None,
        keys: str | Iterable[str] | None = None,
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        delay_level: int | None = None,
        delay: timedelta | float | None = None,
        deliver_at: datetime | int | None = None,
        sharding_key: str | None = None,
        wait: bool = True,
    ) -> None:
        self.topic = topic
        self.body = body
        self.flag = flag
        own: dict[str, str | None] = {
            "TAGS": tags,
            "KEYS": keys if isinstance(keys, str) or keys is None else " ".join(keys),
            "DELAY": None if delay_level is None else str(delay_level),
            "TIMER_DELAY_MS": None if delay is None else str(_milliseconds(delay)),
            "TIMER_DELIVER_MS": None if deliver_at is None else str(_epoch(deliver_at)),
            "__SHARDINGKEY": sharding_key,
            "WAIT": "true" if wait else "false",
        }
        self.properties = dict(properties or {})
        self.properties |= {name: value for name, value in own.items() if value is not None}


def _milliseconds(delay: timedelta | float) -> int:
    return round((delay.total_seconds() if isinstance(delay, timedelta) else delay) * 1000)


def _epoch(moment: datetime | int) -> int:
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment


def encoded_size(message: Message) -> int:
    """Return how many bytes a message takes in a batch."""
    texts = sum(len(name.encode()) + len(value.encode()) + 2 for name, value in message.properties.items())
    return 22 + len(message.body) + texts + 42


def with_properties(message: Message, changes: Mapping[str, str], *, without: Iterable[str] = ()) -> Message:
    """Return a copy with some properties set and others left out; the user's message stays as it is."""
    properties = {**message.properties, **changes}
    for name in without:
        properties.pop(name, None)
    wait = properties.get("WAIT") != "false"
    return Message(message.topic, message.body, properties=properties, flag=message.flag, wait=wait)


def set_property(message: Message, name: str, value: str) -> None:
    """Set a property of a message."""
    message.properties[name] = value
