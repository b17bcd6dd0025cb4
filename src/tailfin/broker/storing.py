"""Storing a message from Python, and what each outcome is called on the wire."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tailfin.broker import names
from tailfin.message import Message
from tailfin.store import Appended, AppendRefused, Store
from tailfin.store.expiry import disk_use
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
        draft = cls(
            topic=message.topic,
            queue_id=message.queue_id,
            body=message.body,
            properties=message.properties,
            flag=message.flag,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=message.born_host,
            reconsume_times=message.reconsume_times,
        )
        return replace(draft, **changes)  # type: ignore[arg-type]  # the callers name fields

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


async def put(store: Store, draft: Draft) -> Outcome:
    """Store a message; waiting for the disk happens on another thread."""

    def append() -> Appended:
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
            wait=draft.properties.get(WAIT, "true") != "false",
        )

    return await _outcome(store, "message", append)


async def put_batch(store: Store, draft: Draft) -> Outcome:
    """Store a batch in the client's encoding."""

    def append() -> Appended:
        return store.append_encoded(
            draft.topic,
            draft.body,
            draft.queue_id,
            born_timestamp=draft.born_timestamp,
            born_host=draft.born_host,
        )

    return await _outcome(store, "batch", append)


async def _outcome(store: Store, what: str, append: Callable[[], Appended]) -> Outcome:
    try:
        return Outcome(ResponseCode.SUCCESS, None, await asyncio.to_thread(append))
    except AppendRefused as refused:
        return refusal(store, refused)
    except ValueError as error:
        return Outcome(ResponseCode.MESSAGE_ILLEGAL, f"the {what} is illegal: {error}", None)


_STORED_ANYWAY = {
    "FLUSH_DISK_TIMEOUT": ResponseCode.FLUSH_DISK_TIMEOUT,
    "FLUSH_SLAVE_TIMEOUT": ResponseCode.FLUSH_SLAVE_TIMEOUT,
    "SLAVE_NOT_AVAILABLE": ResponseCode.SLAVE_NOT_AVAILABLE,
}

_REFUSED = {
    "IN_SYNC_REPLICAS_NOT_ENOUGH": (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough"),
    "CREATE_MAPPED_FILE_FAILED": (
        ResponseCode.SYSTEM_ERROR,
        "create mapped file failed, server is busy or broken.",
    ),
    "OS_PAGE_CACHE_BUSY": (
        ResponseCode.SYSTEM_BUSY,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    ),
    "LMQ_CONSUME_QUEUE_NUM_EXCEEDED": (
        ResponseCode.SYSTEM_ERROR,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, "
        "lmq consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w.",
    ),
    "UNKNOWN_ERROR": (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}


def refusal(store: Store, refused: AppendRefused) -> Outcome:
    """Name an append that was not acknowledged the way RocketMQ does."""
    if refused.status in _STORED_ANYWAY:
        return Outcome(_STORED_ANYWAY[refused.status], str(refused), refused.result)
    if refused.status in ("MESSAGE_ILLEGAL", "PROPERTIES_SIZE_EXCEEDED"):
        return Outcome(ResponseCode.MESSAGE_ILLEGAL, f"the message is illegal: {refused}", None)
    if refused.status == "SERVICE_NOT_AVAILABLE":
        disk = disk_use(store.config)
        return Outcome(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            f"service not available now, maybe disk full, CL: {disk.log:.2f} CQ: {disk.queues:.2f}, "
            f"maybe your broker machine memory too small. The store says: {refused}",
            None,
        )
    code, remark = _REFUSED.get(refused.status, (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT"))
    return Outcome(code, remark, None)
