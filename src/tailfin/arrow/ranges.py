"""Parts of queues as Arrow batches: blocking, and read ahead by the engine."""

import logging
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Literal, Self, Unpack

from tailfin.arrow.pulling import Access, Loss, Pull, Stretch
from tailfin.arrow.schema import COLUMNS
from tailfin.arrow.splitting import stretches
from tailfin.client.blocking.portal import Portal
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.starting import search_time_ms
from tailfin.client.consuming.subscriptions import Sql, subscription
from tailfin.client.errors import ClientError, DataLost
from tailfin.client.keywords import shared_out
from tailfin.client.names import unwrap, wrap
from tailfin.client.network import Network
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.per_process import PerProcess
from tailfin.client.queues import Queue
from tailfin.wire.header import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from tailfin._engine import Courier

log = logging.getLogger("tailfin.client")

OnLoss = Literal["fail", "skip"]

GROUP = "TOOLS_CONSUMER"
"""RocketMQ's own group for tools: every broker has it, and it keeps no offsets."""

BATCH_ROWS = 10_000
BATCH_BYTES = 4 << 20
"""Batches of 1 KiB messages cost less to make at this size than at four times as much."""
PULL_BATCH = 1024
"""Messages asked for at once; brokers give fewer, 32 by their default."""
PULL_TIMEOUT_S = 30.0
LANES = 3
"""Stretches of a range that are read at once: one pull at a time would mostly wait for its answer."""


@dataclass(frozen=True, slots=True)
class QueueRange:
    """A part of a queue: from offset `start` to before offset `end`."""

    topic: str
    broker: str
    queue_id: int
    start: int
    end: int

    @property
    def queue(self) -> Queue:
        """The queue."""
        return Queue(self.topic, self.broker, self.queue_id)

    def __str__(self) -> str:
        return f"{self.topic} queue {self.queue_id} on {self.broker}, offsets {self.start} to {self.end - 1}"


class RangeReader:
    """Reads parts of queues as Arrow batches, and says where queues begin and end.

    Nobody's offset moves. `of` gives one that the whole process uses: made at its first use, and anew in a
    forked child.

    Args:
        **options: see `ClientOptions`.

    Example:
        ```python
        with RangeReader(nameserver="127.0.0.1:9876") as reader:
            for queue in reader.queues("orders"):
                part = QueueRange(*queue, reader.first_offset(queue), reader.end_offset(queue))
                for batch in reader.read(part):
                    print(batch.num_rows)
        ```
    """

    _all: ClassVar[PerProcess[ClientOptions, "RangeReader"]] = PerProcess()

    def __init__(self, **options: Unpack[ClientKeywords]) -> None:
        self._options = ClientOptions(**shared_out(options, ClientOptions)[0])
        self._options.nameservers()
        self._portal: Portal | None = None
        self._network: Network
        self._courier: Courier

    @classmethod
    def of(cls, **options: Unpack[ClientKeywords]) -> "RangeReader":
        """Return this process's reader with these options, running; nobody has to stop it."""
        given = ClientOptions(**shared_out(options, ClientOptions)[0])
        key = replace(given, nameserver=";".join(given.nameservers()), hooks=tuple(given.hooks))

        def running() -> RangeReader:
            reader = cls(**options)
            reader.start()
            return reader

        return cls._all.get(key, running)

    @classmethod
    def stop_all(cls) -> None:
        """Stop the readers that `of` gave, for a process that goes on without them."""
        for reader in cls._all.take_all():
            reader.stop()

    def start(self) -> None:
        """Begin; `with` does it."""
        if self._portal is None:
            self._portal, _ = Portal.opened_for(self._start())

    async def _start(self) -> None:
        self._network = Network(self._options)
        await self._network.start()
        self._courier = self._network.carrier.courier

    def stop(self) -> None:
        """Close every connection; `with` does it."""
        portal, self._portal = self._portal, None
        if portal is not None:
            try:
                portal.call(self._network.stop())
            finally:
                portal.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

    def queues(self, topic: str) -> list[Queue]:
        """Return the queues of a topic, sorted.

        Raises:
            NoRoute: the topic does not exist.
        """
        namespace = self._options.namespace
        route = self._running().call(self._network.route(wrap(namespace, topic), fresh=True))
        return sorted(queue._replace(topic=unwrap(namespace, queue.topic)) for queue in route.subscribe)

    def first_offset(self, queue: Queue) -> int:
        """Return the offset of a queue's first message; 0 when it never had one."""
        return self._running().call(self._position(queue, "first"))

    def end_offset(self, queue: Queue) -> int:
        """Return the offset after a queue's last message."""
        return self._running().call(self._position(queue, "end"))

    def offset_at(self, queue: Queue, moment: datetime) -> int:
        """Return the offset of a queue's first message that was stored at a time or later."""
        return self._running().call(self._position(queue, moment))

    async def _position(self, queue: Queue, where: Literal["first", "end"] | datetime) -> int:
        wrapped = self._wrapped(queue)
        await self._network.route(wrapped.topic)
        positions = Positions(self._network)
        if where == "first":
            found = await positions.first(wrapped)
        elif where == "end":
            found = await positions.end(wrapped)
        else:
            found = await positions.at_time(wrapped, search_time_ms(where))
        return max(found, 0)

    def read(
        self,
        part: QueueRange,
        *,
        expression: str = "*",
        sql: bool = False,
        columns: "Iterable[str]" = COLUMNS,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
        pull_batch: int = PULL_BATCH,
        pull_timeout: float = PULL_TIMEOUT_S,
        on_loss: OnLoss = "fail",
        group: str = GROUP,
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the messages of a part of a queue, in order.

        Args:
            part: what to read.
            expression: which messages are wanted: `"*"`, tags separated by `||`, or SQL92. The broker judges.
            sql: whether the expression is SQL92.
            columns: the names of those that are needed, see `tailfin.arrow.schema`; none of the others is
                built, but `queueOffset`, by which missing messages are found.
            batch_rows: messages of a batch, at most.
            batch_bytes: bytes after which a batch is full, about; a few times as much may be read ahead.
            pull_batch: messages asked for at once.
            pull_timeout: seconds without an answer after which the broker is given up.
            on_loss: what happens when messages of the range are gone: fail, or skip them with a warning.
            group: the consumer group that brokers are told; its offsets stay as they are.

        Raises:
            DataLost: messages of the range are gone.
            ReadFailed: the broker refuses, or did not answer for too long, or a message cannot be read.
        """
        portal = self._running()
        wanted = Sql(expression) if sql else expression
        wrapped = self._wrapped(part.queue)
        pull = Pull(
            queue=wrapped,
            group=wrap(self._options.namespace, group),
            subscription=subscription(wrapped.topic, wanted, now_ms()),
            rows=batch_rows,
            bytes=batch_bytes,
            batch=pull_batch,
            timeout=pull_timeout,
            columns=(*columns, "queueOffset"),
        )
        access = Access(portal, self._network, self._courier, wrapped)
        is_whole = not sql and not pull.subscription.tags_set
        waiting = stretches(part.start, part.end, batch_rows, LANES if is_whole else 1)
        lanes: list[Stretch] = []
        try:
            while True:
                while len(lanes) < LANES and (bounds := next(waiting, None)):
                    lanes.append(Stretch(access, pull, *bounds, is_whole=is_whole))
                if not lanes:
                    return
                for found in lanes[0]:
                    if isinstance(found, Loss):
                        self._lost(part, found, on_loss)
                    else:
                        yield found
                lanes.pop(0).close()
        finally:
            for lane in lanes:
                lane.close()

    def _lost(self, part: QueueRange, loss: Loss, on_loss: OnLoss) -> None:
        lost = replace(part, start=loss.start, end=loss.end)
        if on_loss == "fail":
            raise DataLost(str(lost), loss.why)
        log.warning("messages are lost and left out: %s: %s", lost, loss.why)

    def _wrapped(self, queue: Queue) -> Queue:
        return queue._replace(topic=wrap(self._options.namespace, queue.topic))

    def _running(self) -> Portal:
        if self._portal is None:
            raise ClientError("the reader is not running: call start(), or use it in a `with` block")
        return self._portal
