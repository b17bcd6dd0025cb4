"""Which halves are open.

Everything before `first` is closed; of what follows, the closed ones are known by number. Where to begin in
the half topic and in the op topic stands in `consumerOffset.json`, as the offsets of RocketMQ's group for
transactions: they only save reading after a start, for the op records in the log say everything.
"""

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tailfin.broker import names
from tailfin.broker.offsets import ConsumerOffsets
from tailfin.broker.transactions import halves
from tailfin.message import Message
from tailfin.store import Store, StoreDamaged

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger("tailfin.broker")

READ_AT_ONCE = 256
READ_BYTES = 4 << 20


class Ledger:
    """Open and closed halves."""

    def __init__(self, store: Store, offsets: ConsumerOffsets) -> None:
        self._store = store
        self._offsets = offsets
        self.first = 0
        """Where the oldest half that is not closed stands, or will."""
        self.inherited = 0
        """Halves before it are from before the start."""
        self._closed: set[int] = set()
        self._claimed: dict[int, asyncio.Future[Any]] = {}
        """Those that someone is about to close, with what tells when."""
        self._ops: deque[tuple[int, int]] = deque()
        """Op records that still count: offset, and the last half it closes."""
        self._first_op = 0
        self._moved: dict[str, int] = {}
        """Where halves that were put back stand now, by unique key."""

    def load(self) -> Counter[str]:
        """Read what is open from the store; return how many by topic."""
        self.first = self._start(names.HALF_TOPIC)
        self._first_op = self._start(names.OP_TOPIC)
        self._closed, self._claimed, self._moved = set(), {}, {}
        self._ops = deque()
        for op in self._read(names.OP_TOPIC, self._first_op):
            self._note(halves.closed_by(op), op.queue_offset)
        self.inherited = self._store.max_offset(names.HALF_TOPIC, halves.QUEUE)
        by_topic: Counter[str] = Counter()
        for half in self._read(names.HALF_TOPIC, self.first):
            if self.is_open(half.queue_offset):
                by_topic[halves.real_topic(half) or ""] += 1
                if halves.check_times(half) is not None or half.get_property(halves.FIRST_OFFSET):
                    self._moved[half.unique_key or ""] = half.queue_offset
        self._advance()
        return by_topic

    def _start(self, topic: str) -> int:
        low = self._store.min_offset(topic, halves.QUEUE)
        high = self._store.max_offset(topic, halves.QUEUE)
        kept = self._offsets.get(names.TRANSACTION_GROUP, topic, halves.QUEUE)
        return min(max(low if kept is None else kept, low), high)

    def _read(self, topic: str, offset: int) -> Iterator[Message]:
        end = self._store.max_offset(topic, halves.QUEUE)
        while offset < end:
            try:
                found, offset = self.read(topic, offset)
            except StoreDamaged as damage:
                log.error("record %d of %s cannot be read and is left out: %s", offset, topic, damage)
                offset += 1
            else:
                yield from found

    def read(self, topic: str, offset: int) -> tuple[list[Message], int]:
        """Read some records from an offset on; return them, and where to go on."""
        found = self._store.read(topic, halves.QUEUE, offset, READ_AT_ONCE, max_bytes=READ_BYTES)
        return list(found), max(found.next_offset, offset + 1)

    def is_open(self, offset: int) -> bool:
        """Whether a half waits for its end, and nobody is about to write one."""
        return offset >= self.first and offset not in self._closed and offset not in self._claimed

    def claim(self, offset: int, until: "asyncio.Future[Any]") -> bool:
        """Keep others from closing a half until a future is done; False when it is not open."""
        if not self.is_open(offset):
            return False
        self._claimed[offset] = until
        return True

    def release(self, offset: int) -> None:
        """Leave a half open after all."""
        self._claimed.pop(offset, None)

    def claimed(self, half: Message) -> "asyncio.Future[Any] | None":
        """Return what to wait for before anything is known about a half."""
        for offset in (half.queue_offset, self._moved.get(half.unique_key or "")):
            if offset is not None and (until := self._claimed.get(offset)):
                return until
        return None

    def close(self, offsets: Iterable[int], op_offset: int) -> None:
        """Note halves that are closed by an op record in the log, and how far everything is closed."""
        numbers = list(offsets)
        for offset in numbers:
            self._claimed.pop(offset, None)
        self._note(numbers, op_offset)
        self._advance()

    def skip_to(self, offset: int) -> None:
        """Let go of halves that the log no longer has."""
        for gone in [number for number in self._closed if number < offset]:
            self._closed.discard(gone)
        self.first = max(self.first, offset)
        self._advance()

    def _note(self, offsets: list[int], op_offset: int) -> None:
        self._closed.update(offset for offset in offsets if offset >= self.first)
        self._ops.append((op_offset, max(offsets, default=-1)))

    def _advance(self) -> None:
        while self.first in self._closed:
            self._closed.discard(self.first)
            self.first += 1
        while self._ops and self._ops[0][1] < self.first:
            self._first_op = self._ops.popleft()[0] + 1

    def publish(self) -> None:
        """Commit both positions: the file must never skip an op record, but not the halves that it closes."""
        for topic, offset in ((names.HALF_TOPIC, self.first), (names.OP_TOPIC, self._first_op)):
            if offset != (self._offsets.get(names.TRANSACTION_GROUP, topic, halves.QUEUE) or 0):
                self._offsets.commit(names.TRANSACTION_GROUP, topic, halves.QUEUE, offset)

    @property
    def held_up(self) -> int:
        """How many closed halves have to be remembered because of an older one that is open."""
        return len(self._closed)

    def moved(self, key: str | None, offset: int) -> None:
        """Note where a half stands after it was put back."""
        self._moved[key or ""] = offset

    def ended(self, key: str | None, offset: int) -> None:
        """Note that a half is over, wherever it stood."""
        if self._moved.get(key or "") == offset:
            del self._moved[key or ""]

    def current(self, half: Message) -> int | None:
        """Return where a half that someone knows by an older place stands now; None when it is closed."""
        if self.is_open(half.queue_offset):
            return half.queue_offset
        offset = self._moved.get(half.unique_key or "")
        if offset is None or not self.is_open(offset):
            return None
        for physical, _, _ in self._store.queue_units(names.HALF_TOPIC, halves.QUEUE, offset, 1):
            now = self._store.message_at(physical)
            if now is not None and halves.identity(now) == halves.identity(half):
                return offset
        return None
