"""The whole contract with the engine.

Every call that may wait (disk, locks, other threads) releases the GIL. Offsets named *physical* are
byte positions in the commit log; offsets named *queue* count the messages of one queue. Times are
milliseconds since the epoch. Nothing here configures itself: each option of a store is given by name,
with RocketMQ's key, and `tailfin.config` is the only place that knows the defaults.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from os import PathLike
from typing import Any, Literal, Protocol, final

from typing_extensions import disjoint_base

from tailfin.client.errors import SendFailed
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult

__all__ = [
    "AppendRefused",
    "Appended",
    "ArrowBatch",
    "AvroDecoder",
    "BadExpression",
    "Courier",
    "DamagedMessage",
    "DelayLevels",
    "Event",
    "HotPath",
    "LimitServer",
    "LoadFailed",
    "LogStore",
    "Message",
    "OfflineLog",
    "Outbox",
    "OutgoingMessage",
    "Parcel",
    "Promise",
    "ReadResult",
    "Reader",
    "Receipt",
    "ReceivedMessage",
    "Request",
    "Server",
    "SqlFilter",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreLocked",
    "Tally",
    "Timer",
    "compress_body",
    "decode_batch",
    "decode_handles",
    "decode_message_id",
    "decode_messages",
    "encode_batch",
    "encode_handles",
    "encode_message_id",
    "encode_record",
    "java_hash",
    "run_load",
]

class StoreError(Exception):
    """Base of what the engine raises about a store; an operating system error is an `OSError`."""

class StoreDamaged(StoreError):
    """A file is not what the format allows; the text names the file and the position."""

class StoreLocked(StoreError):
    """Another store, here or in another process, holds the directory."""

class StoreClosed(StoreError):
    """The store was closed."""

class AppendRefused(StoreError):
    """An append that was not acknowledged.

    `status` is RocketMQ's put status (`"SERVICE_NOT_AVAILABLE"`, `"FLUSH_DISK_TIMEOUT"`, ...), `code` and
    `remark` what a producer is answered then.
    `result` is set when the message was stored but its durability is not known.
    """

    status: str
    code: int
    remark: str
    result: Appended | None

class _Draft(Protocol):
    """A message about to be stored, as `append_together` takes it; see `append` for the fields."""

    @property
    def topic(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def flag(self) -> int: ...
    @property
    def sys_flag(self) -> int: ...
    @property
    def born_timestamp(self) -> int | None: ...
    @property
    def born_host(self) -> str | None: ...
    @property
    def reconsume_times(self) -> int: ...
    @property
    def prepared_offset(self) -> int: ...

@final
class Appended:
    """Where an acknowledged message, or batch of messages, now stands."""

    @property
    def queue_offset(self) -> int:
        """Queue offset of the (first) message."""
    @property
    def physical_offset(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes written to the log."""
    @property
    def count(self) -> int:
        """Messages written: 1, or the length of the batch."""
    @property
    def store_timestamp(self) -> int: ...
    @property
    def message_id(self) -> str:
        """RocketMQ's offset message id; for a batch the ids joined by commas."""

@final
class Message:
    """One stored message: a view of the log, decoded field by field when asked."""

    @staticmethod
    def decode(data: bytes) -> Message:
        """Decode one stored record; `ValueError` says what is wrong with it. The body's CRC is checked."""
    @property
    def topic(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def queue_offset(self) -> int: ...
    @property
    def physical_offset(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes of the whole record."""
    @property
    def body(self) -> bytes:
        """The body as stored (a compressed one stays compressed)."""
    @property
    def body_crc(self) -> int: ...
    @property
    def flag(self) -> int: ...
    @property
    def sys_flag(self) -> int: ...
    @property
    def born_timestamp(self) -> int: ...
    @property
    def born_host(self) -> str:
        """`address:port`, IPv6 in brackets."""
    @property
    def store_timestamp(self) -> int: ...
    @property
    def store_host(self) -> str: ...
    @property
    def reconsume_times(self) -> int: ...
    @property
    def prepared_offset(self) -> int: ...
    @property
    def properties(self) -> dict[str, str]:
        """All properties, as a new dict."""
    def get_property(self, name: str) -> str | None:
        """Return one property without decoding the others."""
    @property
    def tags(self) -> str | None: ...
    @property
    def keys(self) -> str | None:
        """The `KEYS` property: keys separated by blanks."""
    @property
    def unique_key(self) -> str | None:
        """The client's message id (`UNIQ_KEY`)."""
    @property
    def message_id(self) -> str:
        """RocketMQ's offset message id: store host and physical offset in hex."""
    @property
    def raw(self) -> bytes:
        """The record's bytes, as they stand in the log."""

@final
class ReadResult:
    """Messages of one queue, in order, and where to go on. A sequence of `Message`."""

    @property
    def status(self) -> str:
        """RocketMQ's get status: `"FOUND"`, `"NO_MATCHED_MESSAGE"`, `"OFFSET_OVERFLOW_ONE"`, ..."""
    @property
    def next_offset(self) -> int: ...
    @property
    def min_offset(self) -> int: ...
    @property
    def max_offset(self) -> int: ...
    @property
    def suggest_slave(self) -> bool:
        """Whether the reader is so far behind that a slave should serve it."""
    @property
    def size(self) -> int:
        """Bytes of all records together."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Message: ...
    def __iter__(self) -> Iterator[Message]: ...

@disjoint_base
class LogStore:
    """RocketMQ's log store. `tailfin.store.Store` is its face; use that."""

    def __new__(cls, path: str, options: Mapping[str, int | bool | str | list[int]]) -> LogStore:
        """Open the store in `path`, recover it, and start its threads.

        `options` holds every engine key of `tailfin.config.store`; a missing or unknown one is an error.
        """
    def append(
        self,
        topic: str,
        body: bytes,
        queue_id: int = 0,
        *,
        tags: str | None = None,
        keys: str | None = None,
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        sys_flag: int = 0,
        born_timestamp: int | None = None,
        born_host: str | None = None,
        reconsume_times: int = 0,
        prepared_offset: int = 0,
        wait: bool = True,
    ) -> Appended:
        """Append one message; it is acknowledged when this returns.

        With `flushDiskType=SYNC_FLUSH` that means on disk, unless `wait` is false.
        `born_host` is `address:port` (IPv6 in brackets); by default the store's own host.

        Raises:
            AppendRefused: the message was not stored, or not flushed in time.
        """
    def append_batch(
        self,
        topic: str,
        messages: Iterable[bytes | tuple[bytes, Mapping[str, str]]],
        queue_id: int = 0,
        *,
        born_timestamp: int | None = None,
        born_host: str | None = None,
        wait: bool = True,
    ) -> Appended:
        """Append messages (bodies, or bodies with properties) as one unit: all of them or none."""
    def append_encoded(
        self,
        topic: str,
        batch: bytes,
        queue_id: int = 0,
        *,
        sys_flag: int = 0,
        born_timestamp: int | None = None,
        born_host: str | None = None,
        reconsume_times: int = 0,
        wait: bool = True,
    ) -> Appended:
        """Append a batch already in the client's encoding, as `SEND_BATCH_MESSAGE` carries it."""
    def append_together(self, drafts: Iterable[_Draft], *, wait: bool = True) -> list[Appended]:
        """Append messages of any queues as one unit: after a crash all of them are there, or none.

        A message that also goes to light queues cannot be part of one, and is refused as illegal.
        """
    def read(
        self,
        topic: str,
        queue_id: int = 0,
        offset: int = 0,
        limit: int = 32,
        *,
        max_bytes: int | None = None,
        tags: str | None = None,
    ) -> ReadResult:
        """Read messages of one queue from a queue offset.

        `tags` is a tag expression (`"TagA || TagB"`, `"*"`): tag hashes are compared in the queue and
        the tags themselves in the message. Without `max_bytes` the transfer limits of the configuration hold.

        Raises:
            StoreDamaged: the first message of the range is damaged.
        """
    def wait_for(self, topic: str, queue_id: int, offset: int, timeout: float | None = None) -> bool:
        """Wait until a message at `offset` is consumable; false when `timeout` seconds pass first."""
    def read_log(
        self, physical_offset: int, limit: int = 1024, *, max_bytes: int = 1 << 20, timeout: float = 0.0
    ) -> tuple[list[Message], int]:
        """Return the records from a physical offset on, and the offset after the last one.

        Waits up to `timeout` seconds when there is none yet. An offset in the middle of a record, or
        below the log's start, is a `ValueError`.

        Raises:
            StoreDamaged: the first record is damaged; the text says where to go on, if there is anything.
        """
    def message_at(self, physical_offset: int) -> Message | None:
        """Return the record that starts at this offset, or None when none does."""
    def message_by_id(self, message_id: str) -> Message | None:
        """Return the message with this offset message id; `ValueError` when the id is malformed."""
    def query(
        self,
        topic: str,
        key: str,
        *,
        begin: int = 0,
        end: int | None = None,
        limit: int = 32,
        by_tags: bool = False,
    ) -> list[Message]:
        """Find messages by one of their keys or their unique key, newest first, stored in [begin, end].

        With `by_tags` the key is the messages' tag.
        """
    def index_end(self) -> tuple[int, int]:
        """Return the newest entry of the key index: when its message was stored, and its physical offset."""
    def min_offset(self, topic: str, queue_id: int) -> int: ...
    def max_offset(self, topic: str, queue_id: int) -> int:
        """Queue offset after the last consumable message; 0 for an unknown queue."""
    def offset_at_time(self, topic: str, queue_id: int, timestamp: int, *, upper: bool = False) -> int:
        """Return the first offset stored at or after `timestamp`; with `upper` the last one at or before."""
    def queue_units(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[int, int, int]]:
        """Units of the consume queue: physical offset, size, tags code."""
    def flush(self) -> int:
        """Put everything written so far on disk; return the physical offset that is safe."""
    def flush_queues(self) -> None:
        """Write and sync all consume queues, index files and the checkpoint."""
    def topics(self) -> dict[str, list[int]]:
        """Topics with their queue ids, sorted."""
    def delete_topic(self, topic: str) -> bool:
        """Remove the consume queues of a topic; its records stay in the log until they expire."""
    @property
    def min_physical_offset(self) -> int: ...
    @property
    def max_physical_offset(self) -> int: ...
    @property
    def flushed_offset(self) -> int: ...
    @property
    def confirm_offset(self) -> int: ...
    @property
    def dispatched_offset(self) -> int:
        """Everything before it is in its queue and index."""
    def set_confirm_limit(self, physical_offset: int | None) -> None:
        """Let readers see nothing at or beyond this offset (replication's word); None lifts the limit."""
    def set_writable(self, reason: str, writable: bool) -> None:
        """Clear or raise a running flag: `"disk_full"`, `"logic_disk_full"`, `"fenced"`, `"not_writable"`."""
    def set_max_message_size(self, size: int) -> None:
        """Change `maxMessageSize`, from the next append on."""
    def running_flags(self) -> int:
        """RocketMQ's running flag bits (0: readable and writable)."""
    def log_files(self) -> list[tuple[int, int, int, bool]]:
        """Files of the commit log: start offset, size, last modified, whether a reader holds it."""
    def delete_first_log_file(self, *, even_if_held: bool = False) -> bool:
        """Delete the oldest log file; false when it is the last one or a reader holds it."""
    def delete_expired_queue_files(self) -> int:
        """Delete queue and index files whose messages are all gone from the log; return how many."""
    def stats(self) -> dict[str, Any]:
        """Counters since opening: puts, bytes, refusals by status, slowest put, syncs, dispatch lag, maps."""
    def notes(self) -> list[tuple[str, str]]:
        """Take what the engine has to say: (`"info" | "warning" | "error"`, text)."""
    def close(self) -> None:
        """Flush everything and stop; a second call does nothing."""

@final
class DelayLevels:
    """Lets messages of delay levels go on to where they belong. Each level is a queue."""

    def __new__(cls, store: LogStore, *, delivered_from: int | None = None) -> DelayLevels:
        """Find the deliveries that stand in the log from `delivered_from` on: they are not repeated."""
    def deliver(
        self, topic: str, queue_id: int, offset: int, *, now: int, delay: int, limit: int
    ) -> tuple[int, int | None, list[tuple[str, int, int]], str | None]:
        """Let what is due at `now` of a queue, whose head is at `offset`, go on.

        Returns the new head, when that is due (None: nothing waits), messages and bytes stored by topic, and
        why it went no further although more is due.
        """
    @property
    def delivered_before(self) -> int:
        """Deliveries found in the log at the start that were not met again yet."""
    def forget_delivered(self) -> None:
        """Say that all that was due at the start is dealt with."""

@final
class Timer:
    """Lets timed messages go on to where they belong, by RocketMQ's wheel (`timerwheel`, `timerlog`)."""

    def __new__(
        cls,
        store: LogStore,
        *,
        wheel: str | PathLike[str],
        log: str | PathLike[str],
        checkpoint: str | PathLike[str],
        log_file_size: int,
        precision: int,
        roll_slots: int,
        waiting: dict[str, int],
        now: int,
    ) -> Timer:
        """Open the files, which are made when a first message waits, and recover them.

        `waiting` counts messages by topic, as it was last written down.
        """
    def work(
        self, now: int, *, limit: int, enqueue: bool = True, dequeue: bool = True
    ) -> tuple[bool, list[tuple[str, int, int]], str | None]:
        """Take in what has arrived, and let what is due at `now` go on: about `limit` messages.

        Returns whether that is all for now, messages and bytes stored by topic, and why it went no further
        although more is due.
        """
    def flush(self, *, even_if_idle: bool = False) -> bool:
        """Make what was done so far survive a crash; false when there was nothing to write."""
    @property
    def checkpoint(self) -> bytes:
        """How far it is, in the 56 bytes that RocketMQ's file and its slaves know."""
    @property
    def read_time(self) -> int:
        """The time whose messages are delivered next."""
    @property
    def behind(self) -> int:
        """Messages that arrived and are not in the wheel yet."""
    def waiting_at(self, time: int) -> int:
        """Messages that wait for the slot of a time."""
    def waiting(self) -> dict[str, int]:
        """Waiting messages by the topic they belong to."""
    def remove_expired(self) -> int:
        """Remove files of the timer log whose messages are gone; return how many."""

@final
class ArrowBatch:
    """Rows as the columns of an Arrow table; `pyarrow.record_batch(batch)` takes them without a copy.

    The columns of messages are those of `tailfin.arrow.schema`.
    """

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Give schema and rows by Arrow's C data interface; they are never given as other types."""
    def __arrow_c_schema__(self) -> object:
        """Give the schema by Arrow's C data interface."""
    def __len__(self) -> int: ...

@final
class AvroDecoder:
    """An Avro schema, ready to decode bodies to columns."""

    def __new__(cls, schema: str, framing: str = "plain") -> AvroDecoder:
        """Compile a schema.

        Args:
            schema: a record, as JSON.
            framing: how bodies begin: `plain`, `single-object` or `confluent`.

        Raises:
            ValueError: it is no schema, or one whose fields cannot be columns; the text says why.
        """
    def __arrow_c_schema__(self) -> object:
        """Give the columns and their types by Arrow's C data interface, for `pyarrow.schema`."""
    def decode(self, bodies: object) -> tuple[ArrowBatch, list[tuple[int, str]]]:
        """Decode bodies without the GIL.

        Args:
            bodies: an array of binary, anything with `__arrow_c_array__`; it is not copied.

        Returns:
            A row for each body, for `pyarrow.array`, and number and reason of those that are bad: their rows
            are null.
        """

@final
class OfflineLog:
    """The commit log of a store directory, read-only and without a running store."""

    def __new__(cls, path: str) -> OfflineLog:
        """Map the log files below `path` (a store directory, or its `commitlog` folder)."""
    def files(self) -> list[tuple[int, int, str]]:
        """Files in order: start offset, size, path."""
    @property
    def min_offset(self) -> int: ...
    @property
    def end_of_files(self) -> int: ...
    def scan(self, physical_offset: int, limit: int = 4096) -> tuple[list[Message], int, str | None]:
        """Read on from an offset: records, where to go on, and the damage found there, if any.

        No record and no damage: the end of the data. Damage: the offset is where it stands; the scan can
        go on at `next_record(offset)`.
        """
    def scan_arrow(
        self,
        start: int,
        end: int,
        *,
        topics: list[str] | None = None,
        without: list[str] = ...,
        without_prefix: list[str] = ...,
        without_suffix: list[str] = ...,
        stored_from: int = ...,
        stored_before: int = ...,
        broker: str | None = None,
        halves: bool = False,
        columns: Sequence[str] | None = None,
        rows: int = 10_000,
        bytes: int = ...,
        body_bytes_max: int = ...,
    ) -> tuple[ArrowBatch | None, int, str | None]:
        """Read on as columns: a batch, where to go on, and the damage found there, if any.

        Where to go on is `end` or more when everything was read. Damage may also be that of the first record
        behind `end`, which a search for a record from there on would step over. No batch, no damage and less
        than `end`: the end of the data.

        Args:
            start: where a record begins.
            end: records that begin here or later are not wanted.
            topics: the topics that are wanted; None: all but those left out.
            without: topics to leave out.
            without_prefix: how topics begin that are left out.
            without_suffix: how topics end that are left out.
            stored_from: not those stored before this time, in milliseconds.
            stored_before: not those stored at this time or later, in milliseconds.
            broker: the broker's name, for its column.
            halves: also parts of transactions that no queue holds: prepared, or rolled back.
            columns: names of the columns that are built; None: all but the properties.
            rows: messages of a batch, at most, unless a batch was stored as one.
            bytes: bytes after which a batch is full, about.
            body_bytes_max: what compressed bodies may grow to.
        """
    def next_record(self, physical_offset: int) -> int | None:
        """Find the first intact record after an offset."""
    def message_at(self, physical_offset: int) -> Message | None: ...

def encode_record(
    *,
    topic: str,
    body: bytes,
    properties: bytes = ...,
    queue_id: int = 0,
    flag: int = 0,
    sys_flag: int = 0,
    queue_offset: int = 0,
    physical_offset: int = 0,
    born_timestamp: int = 0,
    born_host: str = "127.0.0.1:0",
    store_timestamp: int = 0,
    store_host: str = "127.0.0.1:0",
    reconsume_times: int = 0,
    prepared_offset: int = 0,
    property_crc: bool = False,
) -> bytes:
    """Encode one record as the log holds it."""

def decode_batch(batch: bytes) -> list[tuple[int, bytes, bytes]]:
    """Decode a client's batch: flag, body, properties text of each message."""

def encode_batch(messages: Iterable[tuple[int, bytes, bytes]]) -> bytes:
    """Encode a batch the way a client does: flag, body, properties text of each message."""

def java_hash(text: str) -> int:
    """Java's `String.hashCode`, as the tag filter and the index use it."""

def encode_message_id(store_host: str, physical_offset: int) -> str:
    """Build an offset message id from `address:port` and a physical offset."""

def decode_message_id(message_id: str) -> tuple[str, int]:
    """Take an offset message id apart; `ValueError` when it is malformed."""

class BadExpression(ValueError):
    """A filter expression that cannot be read; `position` is the character where that shows, from 1 on."""

    position: int

@final
class SqlFilter:
    """An SQL92 expression over a message's properties, ready to judge messages as RocketMQ's filter does."""

    def __new__(cls, expression: str) -> SqlFilter:
        """Compile an expression; `BadExpression` when it cannot be read."""
    @property
    def unread(self) -> str | None:
        """The end of the text that is not part of the expression: RocketMQ does not look at it."""
    def evaluate(self, properties: bytes) -> bool | None:
        """Judge a message by its properties text; None is SQL's null.

        `ValueError` when a property cannot be converted to what it is compared with.
        """
    def matches(self, properties: bytes) -> bool:
        """Whether a message with this properties text is let through: null and errors are not."""

@final
class Request:
    """One frame from a client that the engine leaves to Python."""

    @property
    def connection(self) -> int:
        """Number of the connection, unique for the life of the process."""
    @property
    def code(self) -> int: ...
    @property
    def opaque(self) -> int: ...
    @property
    def flag(self) -> int: ...
    @property
    def oneway(self) -> bool: ...
    @property
    def version(self) -> int: ...
    @property
    def language(self) -> str:
        """Name of the client's language; `OTHER` for one we do not know."""
    @property
    def remark(self) -> str | None: ...
    @property
    def fields(self) -> dict[str, str]:
        """The header's `extFields`, as a new dict."""
    @property
    def body(self) -> bytes:
        """The body, empty when there is none."""
    @property
    def peer(self) -> str:
        """`address:port` of the client (of the real one behind a PROXY header)."""
    @property
    def local(self) -> str:
        """`address:port` the client dialled."""

@final
class Event:
    """Something that happened to a connection: `"opened"`, `"closed"`, or `"answered"`.

    A connection is `"opened"` when its first bytes come. `"answered"` carries the response to a call of ours,
    with `code` None when the connection closed first.
    """

    @property
    def kind(self) -> str: ...
    @property
    def connection(self) -> int: ...
    @property
    def peer(self) -> str: ...
    @property
    def opaque(self) -> int: ...
    @property
    def code(self) -> int | None: ...
    @property
    def remark(self) -> str | None:
        """What the response says, or why we closed the connection; None when the client did."""
    @property
    def fields(self) -> dict[str, str]: ...
    @property
    def body(self) -> bytes: ...

@final
class Server:
    """A remoting server: sockets, frames, TLS, and the hot requests, on threads that never touch Python."""

    def __new__(cls, options: Mapping[str, int | bool | str], hot: HotPath | None = None) -> Server:
        """Make a server. `options` holds every key of `tailfin.config.server`, and no other.

        With a `HotPath` it answers sends, pulls and offsets itself; without one everything goes to Python.
        """
    def listen(self, host: str, port: int) -> int:
        """Bind (port 0: any free one), accept from now on, and return the port. May be called again."""
    def fileno(self) -> int:
        """Descriptor that is readable while `take` has something to give."""
    def take(self, limit: int = 256) -> list[Request | Event]:
        """Take what waits for Python: oldest first, but no kind of request keeps the others waiting."""
    def answer(
        self,
        request: Request,
        code: int,
        *,
        remark: str | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = ...,
    ) -> None:
        """Answer a request; nothing happens when it was oneway or its connection is gone."""
    def hand_back(self, request: Request) -> bool:
        """Let the hot path serve a request after all, now that its rulebook has what was missing.

        It is answered, or held, as if it had just come in, except that `by_python` marks do not count: who
        hands back has seen to those. False when the hot path leaves it to Python all the same (nothing
        happened then, and `answer` is still due); true also when its connection is gone.
        """
    def call(
        self,
        connection: int,
        code: int,
        *,
        fields: Mapping[str, str] | None = None,
        body: bytes = ...,
        oneway: bool = False,
    ) -> int | None:
        """Send the client a request of ours; return its opaque, or None when the connection is gone."""
    def forget_call(self, connection: int, opaque: int) -> None:
        """Wait no longer for the response to a request of ours; one that still comes is ignored."""
    def disconnect(self, connection: int) -> None: ...
    def connections(self) -> int: ...
    def reload_tls(self) -> None:
        """Read the TLS files again, for connections to come; `ValueError` when they do not fit together."""
    def stats(self) -> dict[str, int]:
        """Counters since start: connections, frames and bytes both ways, refused frames, paused reads."""
    def stop(self, drain: float = 3.0) -> None:
        """Stop accepting and reading, wait up to `drain` seconds until all is answered, close everything.

        Other threads must go on answering meanwhile.
        """

@final
class HotPath:
    """What the sockets' threads answer without Python: sends, pulls, long polling, consumer offsets.

    Its rulebook is pushed entry by entry. A request about something not in the rulebook, or marked for
    Python there, goes to Python as a `Request`.
    """

    def __new__(cls, store: LogStore, options: Mapping[str, int | bool | str]) -> HotPath:
        """Serve from a store, which has one hot path at a time; `options` come from `tailfin.config.hot`."""
    def set_options(self, options: Mapping[str, int | bool | str]) -> None:
        """Replace all options at once (permissions, limits, region, role, ...)."""
    def set_waiting(
        self, *, level_max: int, broker: str, timer_precision: int | None = None, timer_delay_max: int = 0
    ) -> None:
        """Say which messages may be put where they wait without Python.

        Delay levels up to `level_max`, and times up to `timer_delay_max` ms ahead in steps of
        `timer_precision` ms; what else asks to wait stays Python's.
        """
    def new_unique_key(self) -> str:
        """Make a key (`UNIQ_KEY`) for a message that came without one."""
    def put_topic(
        self,
        name: str,
        *,
        read_queues: int,
        write_queues: int,
        perm: int,
        sys_flag: int = 0,
        by_python: bool = False,
    ) -> None:
        """Tell or change a topic; with `by_python` sends to it are left to Python.

        That is for topics with hooks, and for those that clients may not send to: the engine forbids no name.
        """
    def drop_topic(self, name: str) -> None: ...
    def put_group(
        self,
        name: str,
        *,
        consume_enable: bool,
        broadcast_enable: bool,
        broker_id: int,
        broker_id_when_slow: int,
        sys_flag: int = 0,
        by_python: bool = False,
    ) -> None:
        """Tell or change a subscription group; with `by_python` its pulls are left to Python."""
    def drop_group(self, name: str) -> None: ...
    def put_subscription(
        self,
        group: str,
        topic: str,
        *,
        version: int,
        tag_codes: Iterable[int],
        broadcast: bool,
        sql: SqlFilter | None = None,
        by_python: bool = False,
    ) -> None:
        """Tell what a group reads of a topic: hashes of tags, none for all, or a filter by properties.

        With `by_python` pulls by this subscription are left to Python.
        """
    def drop_subscription(self, group: str, topic: str) -> None: ...
    def send_to_python(self, codes: Iterable[int]) -> None:
        """Leave these request codes to Python from now on (hooks, tracing); an empty list ends it."""
    def held_pulls(self) -> int:
        """Pulls that wait for a message now."""
    def wake_pulls(self, topic: str, queue_id: int) -> None:
        """Let the pulls waiting on a queue look again now."""
    def commit_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None: ...
    def committed_offset(self, group: str, topic: str, queue_id: int) -> int | None: ...
    def pulled_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where the group's last pull of the queue ended."""
    def reset_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Answer the next pull with `PULL_OFFSET_MOVED` to this offset, and ignore commits until then."""
    def offsets_of(self, group: str, topic: str) -> dict[int, int]:
        """Return the committed offsets of a group on a topic, by queue."""
    def topics_with_offsets(self, group: str) -> list[str]:
        """Topics on which a group has committed offsets, sorted."""
    def groups_with_offsets(self, topic: str) -> list[str]:
        """Groups that have committed offsets on a topic, sorted."""
    def offsets(self) -> dict[str, dict[int, int]]:
        """All committed offsets: `topic@group` to queue to offset, as `consumerOffset.json` holds them."""
    def offsets_version(self) -> int:
        """Counts commits: unchanged means nothing to persist."""
    def load_offsets(self, offsets: Mapping[str, Mapping[int, int]]) -> None: ...
    def drop_offsets(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Forget the offsets of a topic, of a group, or of one group on one topic."""
    def counters(self) -> dict[str, dict[str, int]]:
        """Totals since start, by RocketMQ's stats name and key; what is zero is left out.

        What the engine answered itself: `TOPIC_PUT_NUMS` and `TOPIC_PUT_SIZE` by topic, `GROUP_GET_NUMS` and
        `GROUP_GET_SIZE` by `topic@group`, `BROKER_PUT_NUMS` and `BROKER_GET_NUMS` by cluster. Of the engine's
        own: `READS_FOUND` and `READS_MISSED`, looks into a queue for a pull, by cluster, and `HALF_PUT_NUMS`,
        first halves of transactions, by the topic they are meant for.
        """
    def slowest_read_ms(self) -> int:
        """Return the longest that looking for a pull's messages took, in milliseconds."""

class LoadFailed(Exception):
    """A load run that could not be carried out; trouble with a connection is a `ConnectionError`."""

def run_load(
    options: Mapping[str, object],
    progress: Callable[[str, float, int], bool] | None = None,
) -> dict[str, Any]:
    """Drive a broker for a while and return what was counted.

    Options, all needed: `mode` (`"send"`, `"pull"`, `"e2e"`, `"create"`), `address` (of the broker), `topic`,
    `topics` (with more than one they are called `TOPIC-00000` and so on), `queues` (of each topic), `group`,
    `connections`, `in_flight` (requests on each connection), `threads`, `body_bytes`, `batch`, `rate`
    (messages/s over all connections, or None), `warm_up`, `duration`, `patience` (seconds, or None), `count`
    (messages, or None), `pull_batch`, `binary` (header instead of JSON), `consumable` (wait until everything
    can be read).

    `progress` is called with the phase (`"warm-up"`, `"measure"`, `"drain"`), the seconds in it and the
    messages so far: when a phase begins and a few times a second. It returns false to end the run, which
    then counts as `interrupted`.

    The result holds `seconds`, `interrupted`, `requests`, `messages`, `messages_ever` (warm-up and drain
    included), `messages_per_second`, `body_bytes_per_second`, latencies `p50_ms`, `p99_ms`, `p999_ms`,
    `max_ms`, `mean_ms`, and `refused`: response code to how often and the first remark. With a rate, latency
    counts from when a request was due, so that a stalled server shows in all that was due meanwhile.
    `received` holds the same of the other end of an `e2e` run; `consumable_seconds` if that was asked for.
    """

@final
class LimitServer:
    """A server that only decodes the frame, copies the body into a mapped file and says yes."""

    def __new__(cls, address: str, directory: str) -> LimitServer:
        """Serve `address:port` from now on (port 0: any free one); the mapped file lies in `directory`."""
    @property
    def address(self) -> str:
        """Where it listens, as `address:port`."""
    def stop(self) -> None:
        """Close everything; a second call does nothing."""

@final
class Courier:
    """A client's connections to servers, on a thread of their own that starts with the first request.

    A process that was forked from the one that made it cannot use it: its requests fail, and `stop` does
    nothing.
    """

    def __new__(cls, options: Mapping[str, int | bool | str]) -> Courier:
        """Make a courier; nothing is connected yet. Every key must be there (empty text: none).

        `connect_ms`, `idle_ms` (0: a connection is never closed for being idle), `max_frame_bytes`, `binary`
        (headers in RocketMQ's binary form, not JSON); `tls`, `tls_ca` (PEM file of what is trusted),
        `tls_insecure` (trust every server), `tls_check_host`, `tls_cert` and `tls_key` (PEM files);
        `access_key`, `secret_key`, `security_token`: requests are signed when they are given.
        """
    def fileno(self) -> int:
        """Return a descriptor that is readable while `take` has something."""
    def take(self, limit: int = 256) -> list[Any]:
        """Take what Python has to look at, oldest first.

        A reader with messages or trouble; a receipt that was watched and is done; a parcel that failed and
        needs a decision (`Outbox.retry` or `Outbox.give_up`); an outbox that has room again after `try_post`
        found none.
        """
    def disconnect(self, address: str) -> None:
        """Close the connection to a server, if there is one; the next request opens another."""
    def end_transactions(
        self,
        address: str,
        handles: bytes,
        *,
        group: str,
        topic: str,
        commits: bool,
        id: str,
        as_asked: bool = False,
        window: int = 1024,
        timeout_ms: int = 10_000,
    ) -> list[tuple[int, int, int, str]]:
        """End many transactions of one topic at a broker, and wait for all answers.

        Args:
            address: the broker's.
            handles: where the halves stand: see `encode_handles`.
            group: whose halves they are.
            topic: as brokers know it.
            commits: whether they are committed, or rolled back.
            id: what brokers write into their logs.
            as_asked: as if the broker had asked, which is allowed for longer.
            window: how many may be under way.
            timeout_ms: for each.

        Returns:
            Those that are not ended: offset in the log, in the queue of halves, code and remark.
        """
    def stop(self, drain: float) -> None:
        """Take no more requests, and wait up to `drain` seconds for the answers to those under way.

        What has no answer then fails, and nobody is asked about failures any more. `take` still has the
        receipts that were watched. A second call does nothing.
        """

class DamagedMessage(ValueError):
    """A received message whose body cannot be had: damaged, or longer than allowed; the text names it."""

@final
class ReceivedMessage:
    """A message as a consumer gets it.

    It is a view of the answer it came in, which it keeps in memory, and decodes what it is asked for. All but
    `reconsume_times` is read-only.

    Example:
        ```python
        def handle(message: tailfin.ReceivedMessage) -> None:
            print(message.topic, message.tags, message.keys, message.body.decode())
        ```
    """

    @property
    def topic(self) -> str:
        """The topic that was subscribed to, without namespace, also when it comes from the retry topic."""
    @property
    def stored_topic(self) -> str:
        """The topic whose queue it was read from."""
    @property
    def broker(self) -> str:
        """Name of the broker it was read from."""
    @property
    def queue_id(self) -> int: ...
    @property
    def queue_offset(self) -> int: ...
    @property
    def physical_offset(self) -> int: ...
    @property
    def queue(self) -> Queue:
        """The queue it was read from."""
    @property
    def size(self) -> int:
        """Bytes it takes here, as the limits of a `Reader` count them."""
    @property
    def body(self) -> bytes:
        """The body as it was sent; checked and decompressed at the first look.

        Raises:
            DamagedMessage: it does not fit its checksum, or cannot be decompressed.
        """
    @property
    def flag(self) -> int:
        """The application's own number."""
    @property
    def sys_flag(self) -> int: ...
    @property
    def born_timestamp(self) -> int: ...
    @property
    def born_host(self) -> str:
        """The sender's `address:port`, IPv6 in brackets."""
    @property
    def store_timestamp(self) -> int: ...
    @property
    def store_host(self) -> str: ...
    @property
    def reconsume_times(self) -> int:
        """How often it was tried before; whoever tries it again on the spot sets it."""
    @reconsume_times.setter
    def reconsume_times(self, times: int, /) -> None: ...
    @property
    def prepared_offset(self) -> int: ...
    @property
    def properties(self) -> dict[str, str]:
        """All properties, as a new dict; `MIN_OFFSET` and `MAX_OFFSET` are the queue's when it was pulled."""
    @property
    def tags(self) -> str | None: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def message_id(self) -> str:
        """The id its sender gave it (`UNIQ_KEY`), else the broker's."""
    @property
    def offset_message_id(self) -> str:
        """The broker's id: store host and physical offset in hex."""
    @property
    def transaction_id(self) -> str | None:
        """The id of the transaction it was sent in."""
    def property(self, name: str) -> str | None:  # the last one, since it hides the builtin
        """Return one property without decoding the others."""

def decode_messages(
    data: bytes,
    *,
    broker: str = "",
    namespace: str | None = None,
    tags: list[str] | None = None,
    check_crc: bool = True,
    body_bytes_max: int = ...,
) -> list[ReceivedMessage]:
    """Decode records as answers hold them: of a pull, a query, a message that was looked up.

    A reply that was pushed to a producer is one, too, once `encode_record` has put it together.

    Args:
        data: the records, one after the other.
        broker: who sent them.
        namespace: taken off the topics.
        tags: what their tags may be; all without.
        check_crc: whether bodies must fit their checksums.
        body_bytes_max: what compressed bodies may grow to.

    Raises:
        ValueError: there is something else than records.
    """

def compress_body(body: bytes, compression: str, level: int = 5) -> tuple[bytes, int]:
    """Compress a body by `"zlib"`, `"lz4"` or `"zstd"`; return it with the bits for the system flag."""

@final
class Reader:
    """Reads one queue, and pulls ahead of whoever takes its messages.

    It is made at rest; `resume` starts it. While the broker answers as brokers do it goes on by itself; at
    anything else it stops, and `trouble` says why until `resume` or `seek`. One that nobody holds any more is
    closed.

    `Courier.take` returns it when messages or trouble came, and again while `take` left something behind.
    """

    def __new__(
        cls,
        courier: Courier,
        address: str,
        *,
        group: str,
        topic: str,
        broker: str,
        queue_id: int,
        offset: int,
        expression: str = "*",
        expression_type: str = "TAG",
        sub_version: int = 0,
        send_expression: bool = False,
        tags: list[str] | None = None,
        batch: int = 32,
        batch_bytes: int | None = None,
        suspend_ms: int = 15_000,
        timeout_ms: int = 30_000,
        max_messages: int = 1000,
        max_bytes: int = ...,
        lite: bool = False,
        namespace: str | None = None,
        check_crc: bool = True,
        body_bytes_max: int = ...,
        until: int | None = None,
        gather: tuple[int, int, Sequence[str]] | None = None,
    ) -> Reader:
        """Make a reader; the defaults are RocketMQ's.

        Args:
            courier: who carries its pulls.
            address: `host:port` of the broker.
            group: the consumer group.
            topic: the topic, with its namespace.
            broker: the broker's name.
            queue_id: which queue.
            offset: where to begin.
            expression: what messages are wanted.
            expression_type: `"TAG"` or `"SQL92"`.
            sub_version: the version of the subscription, as in the group's heartbeats.
            send_expression: have each pull carry the expression; otherwise the broker must know the group.
            tags: the tags of the expression, to be compared as text; the broker only compares hashes.
            batch: messages of one pull, at most.
            batch_bytes: bytes of one pull, about.
            suspend_ms: how long the broker may hold a pull for which there is nothing; 0: not at all, and the
                end of the queue is trouble 19.
            timeout_ms: when an answer is given up; more than `suspend_ms`.
            max_messages: no pull begins while so many are here, from their arrival to their release.
            max_bytes: the same in bytes.
            lite: use the request of lite pull consumers.
            namespace: taken off the topics that messages show.
            check_crc: whether bodies must fit their checksums.
            body_bytes_max: what compressed bodies may grow to.
            until: the offset where it ends: nothing from there on is pulled.
            gather: have messages gathered into batches of so many rows, or about so many bytes, with these
                columns. They are taken with `collect`, and `Courier.take` does not return such a reader. A
                message that cannot be read is trouble -1000.
        """
    def resume(self, *, offset: int | None = None, address: str | None = None) -> None:
        """Start, or go on after a pause or trouble; elsewhere if that is given. What is ready stays."""
    def pause(self) -> None:
        """Begin no more pulls; what is under way still arrives."""
    def seek(self, offset: int) -> None:
        """Begin again at `offset`; what is ready or under way is dropped. One at rest stays at rest."""
    def close(self) -> None:
        """Stop for good; what is ready or under way is dropped."""
    def take(self, limit: int = 1024, *, release: bool = False) -> list[ReceivedMessage]:
        """Take the next messages in order, up to `limit`; with `release` they are released at once."""
    def release(self, messages: int, bytes: int) -> None:
        """Say that messages, of so many bytes by their `size`, were dealt with: there is room for others."""
    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for messages or trouble; return whether there is something."""
    def collect(self, timeout: float = 30.0) -> ArrowBatch | None:
        """Take the next batch of what is gathered, and release it.

        Waits until a batch is full, or until no more comes for now: `until` is reached, trouble came, the
        limits are reached, or `timeout` seconds passed. None: nothing is gathered.
        """
    @property
    def finished(self) -> bool:
        """Whether everything before `until` was pulled and taken."""
    @property
    def trouble(self) -> tuple[int, str, int] | None:
        """Why it stopped: code, remark, and where the broker would go on, or else where it stands.

        It shows once everything that came before was taken.

        A code of the broker, among them 21 (no such offset), 20 (ask the broker of `suggested_broker_id`
        instead) and, with `suspend_ms=0`, 19 (nothing more at present). A negative one is for what went wrong
        on the way: `-1004` not sent or connection lost, `-1006` no answer in time, `-1000` an answer that
        cannot be read.
        """
    @property
    def topic(self) -> str: ...
    @property
    def broker(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def offset(self) -> int:
        """Where the next pull begins."""
    @property
    def ready(self) -> int:
        """Messages that can be taken."""
    @property
    def held(self) -> tuple[int, int]:
        """Messages and bytes that count for the limits: ready, or taken and not released."""
    @property
    def min_offset(self) -> int | None:
        """The queue's first offset at the last answer."""
    @property
    def max_offset(self) -> int | None:
        """The offset after the queue's last message at the last answer."""
    @property
    def suggested_broker_id(self) -> int | None:
        """The id of the broker that should be asked next, as the last answer said; 0 is the master."""
    @property
    def running(self) -> bool: ...
    @property
    def closed(self) -> bool: ...

@final
class OutgoingMessage:
    """A message to send; `tailfin.Message`."""

    topic: str
    body: bytes
    flag: int
    properties: dict[str, str]
    """All properties, those of `tags`, `keys` and the others too; changing the dict changes the message."""
    wait: bool
    """Whether the broker answers only when the message is as safe as it is configured to be."""

    def __new__(
        cls,
        topic: str,
        body: bytes | bytearray | memoryview,
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
    ) -> OutgoingMessage:
        """Make a message; nothing is sent yet.

        Args:
            topic: where it goes.
            body: its content.
            tags: what consumers can filter by.
            keys: what it can be found by later, one or several.
            properties: further properties.
            flag: a number for the application.
            delay_level: deliver it later, by one of the broker's levels.
            delay: deliver it after so many seconds.
            deliver_at: deliver it at this time; as a number, milliseconds since the epoch.
            sharding_key: messages with one key stay in order.
            wait: whether the broker answers only when the message is as safe as it is configured to be.
        """
    @property
    def tags(self) -> str | None: ...
    @tags.setter
    def tags(self, tags: str | None) -> None: ...
    @property
    def keys(self) -> list[str]: ...
    @keys.setter
    def keys(self, keys: str | Iterable[str] | None) -> None: ...
    @property
    def delay_level(self) -> int | None: ...
    @delay_level.setter
    def delay_level(self, level: int | None) -> None: ...
    @property
    def delay(self) -> float | None:
        """Seconds after which it is delivered."""
    @delay.setter
    def delay(self, delay: timedelta | float | None) -> None: ...
    @property
    def deliver_at(self) -> int | None:
        """When it is delivered, in milliseconds since the epoch."""
    @deliver_at.setter
    def deliver_at(self, moment: datetime | int | None) -> None: ...
    @property
    def sharding_key(self) -> str | None: ...
    @sharding_key.setter
    def sharding_key(self, key: str | None) -> None: ...

@final
class Outbox:
    """What one producer sends: messages at once, or collected into batches by topic.

    Outboxes of one courier are equal when they are the same: `Courier.take` makes new objects.
    """

    def __new__(cls, courier: Courier, options: Mapping[str, int | bool | str]) -> Outbox:
        """Make an outbox. Every key must be there.

        `group`; `linger_ms`, `batch_bytes`, `batch_count`: how long and how much is collected (0 ms: only
        what is there already); `room_bytes`: how much may be under way; `compression` (`"zlib"`, `"lz4"`,
        `"zstd"`, `"none"`), `compression_level`, `compress_over`: longer bodies are compressed and go alone;
        `max_message_size`; `timeout_ms`: for each try of what is posted; `default_topic`, `default_queues`;
        `unit_mode`; `instance_id` (the namespace, or empty); `client_ip`: what message ids begin with.
        """
    def set_route(
        self,
        topic: str,
        queues: Sequence[tuple[str, str, int]],
        *,
        wire_topic: str | None = None,
        every: Sequence[tuple[str, str, int]] | None = None,
    ) -> None:
        """Let posts to a topic go round these queues (address, broker, queue id), a whole batch to each.

        `wire_topic` is what brokers know the topic as. No queues: posts have no route. `every` has all queues
        of the topic, those too that are left alone for now: a post that chooses its queue chooses among them.
        """
    def post(
        self, judge: Callable[[Receipt], SendResult | SendFailed], message: OutgoingMessage
    ) -> Promise | None:
        """Send a message with others of its topic; None when the topic has no route yet.

        `judge` says what a receipt that is done came to. Waits while there is no room. When a try fails
        `Courier.take` has the parcel, for Python to decide.
        """
    def try_post(self, message: OutgoingMessage) -> Receipt | Literal[False] | None:
        """As `post`, but return False when there is no room: `Courier.take` has the outbox once there is."""
    def post_arrow(
        self,
        batch: object,
        tally: Tally,
        *,
        start: int = 0,
        topic: str | None = None,
        properties: Mapping[str, str] | None = None,
        left_out: Set[str] | None = None,
        window: int = 0,
    ) -> tuple[int, str] | None:
        """Send the rows of a record batch, each with others of its topic and queue; wait for room.

        Columns go by their names: `body` (binary or text), `topic`, `tags`, `keys`, `shardingKey`,
        `brokerName` (text), `queueId`, `delayLevel` (int32), `deliverAt` (timestamp in microseconds),
        `properties` (a map of text).

        Args:
            batch: anything with `__arrow_c_array__`; it is not copied.
            tally: what counts the rows; once one has failed, the rest is not sent.
            start: the first row to send.
            topic: of rows that name none.
            properties: what every row gets besides its own.
            left_out: names that are not taken out of the column `properties`; none without it.
            window: how many rows of the tally may be under way; 0: as many as there is room for.

        Returns:
            None; or a row and its topic, which has no route yet: that row and those after it are not sent.

        Raises:
            ValueError: a row cannot be sent; those before it are.
        """
    def send(
        self,
        message: OutgoingMessage,
        address: str,
        broker: str,
        queue_id: int,
        timeout_ms: int,
        *,
        oneway: bool = False,
        wire_topic: str | None = None,
    ) -> Receipt:
        """Send a message at once, whether there is room or not.

        A failure is the receipt's code; `retry` with its parcel sends the same message once more.
        """
    def send_batch(
        self,
        messages: Sequence[OutgoingMessage],
        address: str,
        broker: str,
        queue_id: int,
        timeout_ms: int,
        *,
        oneway: bool = False,
        wire_topic: str | None = None,
    ) -> list[Receipt]:
        """Send messages of one topic at once, as one batch; `ValueError` when they cannot be one."""
    def stamp(self, message: OutgoingMessage) -> str:
        """Give a message its unique key (`UNIQ_KEY`), unless it has one; return it.

        Sends do that by themselves, without changing the message.
        """
    def retry(self, parcel: Parcel, address: str, broker: str, queue_id: int, timeout_ms: int) -> bool:
        """Send a failed parcel once more; false when it is stored, given up or under way."""
    def give_up(self, parcel: Parcel) -> None:
        """Let a parcel's failure be the end of it."""
    def flush(self, timeout: float | None = None) -> bool:
        """Send what is collected and wait until nothing is under way; false when the time is over first."""
    def pending(self) -> int:
        """Return how many messages are under way."""
    def pending_bytes(self) -> int:
        """Return how many bytes are under way."""
    def counts(self) -> tuple[int, int]:
        """Return how many posted messages are stored by now, and how many were given up."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Tally:
    """Counts messages that are posted together, and that nobody holds receipts of."""

    def __new__(cls, *, handles: bool = False) -> Tally:
        """Make a tally; with `handles` it keeps where halves of transactions stand."""
    @property
    def pending(self) -> int:
        """How many messages are under way."""
    @property
    def stored(self) -> int:
        """How many messages are stored."""
    @property
    def failure(self) -> tuple[int, str, str, str, int, int] | None:
        """Of the first message that failed: code, remark, topic, broker, queue id and tries."""
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is under way; false when `timeout` seconds pass first."""
    def handles(self) -> list[tuple[str, str, bytes]]:
        """Return where halves stand, as `decode_handles` reads them, by broker and topic."""

def encode_handles(handles: Sequence[tuple[int, int]]) -> bytes:
    """Encode where halves stand: pairs of an offset in the log and one in the queue of halves."""

def decode_handles(handles: bytes) -> list[tuple[int, int]]:
    """Decode what `encode_handles` or a tally made, in the order of the log; ValueError: it is none."""

@final
class Receipt:
    """The promise of one message's result."""

    @property
    def done(self) -> bool:
        """Whether the message is stored, or its failure final."""
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is done; false when `timeout` seconds pass first."""
    def watch(self) -> None:
        """Have `Courier.take` return this very receipt once it is done; at once when it is."""
    @property
    def parcel(self) -> Parcel:
        """All messages that travel in its request."""
    @property
    def code(self) -> int | None:
        """How the last try ended, as a `ResponseCode`; None while there is no answer."""
    @property
    def remark(self) -> str: ...
    @property
    def topic(self) -> str:
        """As brokers know it."""
    @property
    def message_id(self) -> str:
        """The message's unique key."""
    @property
    def offset_message_id(self) -> str: ...
    @property
    def broker(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def queue_offset(self) -> int:
        """Where it stands in its queue; -1 when it is not stored."""
    @property
    def transaction_id(self) -> str | None: ...
    @property
    def region_id(self) -> str | None: ...
    @property
    def trace_on(self) -> bool: ...
    @property
    def recall_handle(self) -> str | None: ...
    @property
    def tries(self) -> int: ...

@final
class Promise:
    """What `tailfin.Producer.send_soon` returns: a receipt that a thread can wait for."""

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""
    def result(self, timeout: float | None = None) -> SendResult:
        """Wait until the message is stored, and return its result.

        Raises:
            TimeoutError: it is neither stored nor given up yet.
            SendFailed: it was given up.
        """
    def exception(self, timeout: float | None = None) -> SendFailed | None:
        """Wait until the message is stored, and return None; or return why it was given up."""

@final
class Parcel:
    """Messages that travel as one request. Equal when they are the same."""

    @property
    def outbox(self) -> Outbox: ...
    @property
    def topic(self) -> str:
        """As brokers know it."""
    @property
    def count(self) -> int:
        """Messages in it."""
    @property
    def code(self) -> int | None:
        """How the last try ended; None while it is under way."""
    @property
    def remark(self) -> str: ...
    @property
    def address(self) -> str:
        """Where the last try went."""
    @property
    def broker(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def is_bound(self) -> bool:
        """Whether its queue was chosen, so that no other will do."""
    @property
    def tries(self) -> int: ...
    @property
    def age(self) -> float:
        """Seconds since the first try."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
