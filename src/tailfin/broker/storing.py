"""Storing a message from Python, and what each outcome is called on the wire."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tailfin.broker import names
from tailfin.message import Message
from tailfin.store import Appended, AppendRefused, Store
from tailfin.wire.codes import ResponseCode

NAME_END, VALUE_END = "\x01", "\x02"

DELAY = "DELAY"
REAL_TOPIC = "REAL_TOPIC"
REAL_QUEUE = "REAL_QID"
RETRY_TOPIC = "RETRY_TOPIC"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
UNIQUE_KEY = "UNIQ_KEY"
WAIT = "WAIT"
PREPARED = "TRAN_MSG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message about to be stored."""

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    sys_flag: int = 0
    born_timestamp: int | None = None
    born_host: str | None = None
    reconsume_times: int = 0
    prepared_offset: int = 0

    @classmethod
    def again(cls, message: Message, **changes: object) -> "Draft":
        """Take a stored message up once more, with some things changed."""
        fields: dict[str, Any] = {
            "topic": message.topic,
            "queue_id": message.queue_id,
            "body": message.body,
            "flag": message.flag,
            "sys_flag": message.sys_flag,
            "born_timestamp": message.born_timestamp,
            "born_host": message.born_host,
            "reconsume_times": message.reconsume_times,
        }
        if "properties" not in changes:
            fields["properties"] = message.properties
        fields.update(changes)
        return cls(**fields)

    def delayed(self, level: int, level_max: int) -> "Draft":
        """Send the message through the schedule topic, from where it goes on after the level's delay."""
        level = min(level, level_max)
        properties = {
            **self.properties,
            DELAY: str(level),
            REAL_TOPIC: self.topic,
            REAL_QUEUE: str(self.queue_id),
        }
        return replace(self, topic=names.SCHEDULE_TOPIC, queue_id=level - 1, properties=properties)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How storing ended."""

    code: int
    remark: str | None
    appended: Appended | None

    @property
    def stored(self) -> bool:
        """Whether the message is in the log, flushed and replicated or not."""
        return self.appended is not None


def parse_properties(text: str | None) -> dict[str, str]:
    """Read properties text; a pair without a name or a value is skipped."""
    pairs = (part.partition(NAME_END) for part in (text or "").split(VALUE_END))
    return {name: value for name, found, value in pairs if found and name and value}


def properties_text(properties: Mapping[str, str]) -> str:
    """Write properties the way messages and headers carry them."""
    return "".join(f"{name}{NAME_END}{value}{VALUE_END}" for name, value in properties.items())


def append(store: Store, draft: Draft, *, wait: bool) -> Appended:
    """Store a message on this thread, waiting for the disk or not."""
    return store.append(
        draft.topic,
        draft.body,
        draft.queue_id,
        properties=draft.properties,
        flag=draft.flag,
        sys_flag=draft.sys_flag,
        born_timestamp=draft.born_timestamp,
        born_host=draft.born_host,
        reconsume_times=draft.reconsume_times,
        prepared_offset=draft.prepared_offset,
        wait=wait,
    )


async def put(store: Store, draft: Draft) -> Outcome:
    """Store a message; waiting for the disk happens on another thread."""
    return await _outcome("message", lambda: append(store, draft, wait=_waits(draft)))


async def put_batch(store: Store, draft: Draft) -> Outcome:
    """Store a batch in the client's encoding."""

    def append() -> Appended:
        return store.append_encoded(
            draft.topic,
            draft.body,
            draft.queue_id,
            sys_flag=draft.sys_flag,
            born_timestamp=draft.born_timestamp,
            born_host=draft.born_host,
            reconsume_times=draft.reconsume_times,
            wait=_waits(draft),
        )

    return await _outcome("batch", append)


def _waits(draft: Draft) -> bool:
    """Whether the producer wants to wait for the disk."""
    return draft.properties.get(WAIT, "true").lower() == "true"


async def _outcome(what: str, append: Callable[[], Appended]) -> Outcome:
    try:
        return Outcome(ResponseCode.SUCCESS, None, await asyncio.to_thread(append))
    except AppendRefused as refused:
        return Outcome(refused.code, refused.remark, refused.result)
    except ValueError as error:
        return Outcome(ResponseCode.MESSAGE_ILLEGAL, f"the {what} is illegal: {error}", None)
