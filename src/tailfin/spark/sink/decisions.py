"""Which batches are decided: records in the order of a log, and what they come to. No I/O.

A batch is committed by the first `decide` record of it in the log whose id no `abort` record before it names.
Whoever writes a record reads it back from the log, so all agree on who was first, whatever got lost between.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

PART_BYTES = 1 << 20
"""Bytes of one record: brokers take up to four times as many."""

QUERY, BATCH, PARTITION, ATTEMPT = "SPARK_QUERY", "SPARK_BATCH", "SPARK_PARTITION", "SPARK_ATTEMPT"
KIND, DECISION, PART = "SPARK_RECORD", "SPARK_DECISION", "SPARK_PART"
"""Properties of records; the first four are on half messages, too."""


@dataclass(frozen=True)
class Halves:
    """Half messages of a topic at a broker.

    Attributes:
        broker: its name.
        topic: as brokers know it.
        handles: where they stand, as the engine writes it.
    """

    broker: str
    topic: str
    handles: bytes


@dataclass(frozen=True, order=True)
class BatchName:
    """A batch of a query, or (batch 0) a write outside of one."""

    query: str
    batch: int

    @property
    def tag(self) -> str:
        """What brokers find a query's records by."""
        return hashlib.sha256(self.query.encode()).hexdigest()[:16]

    def marks(self) -> dict[str, str]:
        """Return the properties that name it."""
        return {QUERY: self.query, BATCH: str(self.batch)}

    def __str__(self) -> str:
        return f"batch {self.batch} of {self.query}"


@dataclass(frozen=True)
class Decision:
    """That a batch is committed, and what it consists of.

    Attributes:
        halves: the messages.
        ended_from: for each broker, where in its topic of ended transactions those of this decision follow.
    """

    halves: tuple[Halves, ...]
    ended_from: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What tells it from another decision about the same batch: the same messages have the same id."""
        return identity(self.halves)

    def encode(self) -> bytes:
        """Write it down."""
        halves = [[each.broker, each.topic, base64.b64encode(each.handles).decode()] for each in self.halves]
        return zlib.compress(json.dumps({"halves": halves, "endedFrom": dict(self.ended_from)}).encode(), 1)

    @classmethod
    def decode(cls, data: bytes) -> "Decision":
        """Read what `encode` wrote; raise ValueError when it is no such thing."""
        try:
            fields = json.loads(zlib.decompress(data))
            halves = [
                Halves(broker, topic, base64.b64decode(handles))
                for broker, topic, handles in fields["halves"]
            ]
            return cls(tuple(halves), {name: int(offset) for name, offset in fields["endedFrom"].items()})
        except (zlib.error, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"not a decision: {error}") from None


def identity(halves: Iterable[Halves]) -> str:
    """Return a name for some messages that no others have."""
    digest = hashlib.sha256()
    for each in sorted(halves, key=lambda one: (one.broker, one.topic, one.handles)):
        digest.update(repr((each.broker, each.topic, each.handles)).encode())
    return digest.hexdigest()[:32]


class Kind(Enum):
    """What a record says."""

    DECIDE = "decide"
    ABORT = "abort"
    DONE = "done"


@dataclass(frozen=True)
class Record:
    """One message of the decision topic.

    Attributes:
        name: which batch it is about.
        kind: what it says.
        id: which decision it is about.
        part: which part of the decision it has, and of how many.
        body: the part.
    """

    name: BatchName
    kind: Kind
    id: str
    part: tuple[int, int] = (0, 1)
    body: bytes = b"-"

    def properties(self) -> dict[str, str]:
        """Return the properties of its message."""
        return {
            **self.name.marks(),
            KIND: self.kind.value,
            DECISION: self.id,
            PART: f"{self.part[0]}/{self.part[1]}",
        }

    @classmethod
    def of(cls, properties: Mapping[str, str], body: bytes) -> "Record | None":
        """Read a message of the topic; None: it is somebody else's."""
        try:
            number, _, count = properties[PART].partition("/")
            name = BatchName(properties[QUERY], int(properties[BATCH]))
            return cls(name, Kind(properties[KIND]), properties[DECISION], (int(number), int(count)), body)
        except (LookupError, ValueError):
            return None


def decide(name: BatchName, decision: Decision, part_bytes: int = PART_BYTES) -> list[Record]:
    """Return the records that commit a batch; the last one does it."""
    data, id = decision.encode(), decision.id
    parts = [data[at : at + part_bytes] for at in range(0, len(data), part_bytes)]
    return [Record(name, Kind.DECIDE, id, (number, len(parts)), part) for number, part in enumerate(parts)]


class History:
    """What the records of one query come to."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, str], dict[int, bytes]] = {}
        self._decided: dict[int, Decision] = {}
        self._aborted: set[tuple[int, str]] = set()
        self._done: set[int] = set()
        self.newest = -1
        """The newest batch that any record is about."""

    def take(self, record: Record) -> None:
        """Take the next record in the order of the log."""
        batch, id = record.name.batch, record.id
        self.newest = max(self.newest, batch)
        if record.kind is Kind.DONE:
            self._done.add(batch)
        elif record.kind is Kind.ABORT:
            self._aborted.add((batch, id))
        elif batch not in self._decided:
            parts = self._parts.setdefault((batch, id), {})
            parts[record.part[0]] = record.body
            if len(parts) == record.part[1] and (batch, id) not in self._aborted:
                whole = b"".join(parts[number] for number in range(len(parts)))
                self._decided[batch] = Decision.decode(whole)

    def decision(self, batch: int) -> Decision | None:
        """Return what a batch was committed with; None: it was not."""
        return self._decided.get(batch)

    def is_done(self, batch: int) -> bool:
        """Whether everything that a decision asks for has been done."""
        return batch in self._done

    def forget_before(self, batch: int) -> None:
        """Let go of older batches: Spark does not go back to them."""
        for gone in [each for each in self._decided if each < batch]:
            del self._decided[gone]
        self._parts = {key: parts for key, parts in self._parts.items() if key[0] >= batch}
        self._aborted = {each for each in self._aborted if each[0] >= batch}
        self._done = {each for each in self._done if each >= batch}
