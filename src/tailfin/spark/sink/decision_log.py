"""The topic where it stands which batches are committed: one queue, so that everything in it has an order."""

import asyncio
import logging
import time
from typing import ClassVar

from tailfin.admin.reading import GROUP
from tailfin.admin.servers import Servers
from tailfin.admin.topics import Topics
from tailfin.client import names
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.pulling import pull_once
from tailfin.client.consuming.subscriptions import subscription
from tailfin.client.errors import ClientError, SendFailed
from tailfin.client.messages import Message
from tailfin.client.per_process import PerProcess
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult
from tailfin.config.setting import ConfigError
from tailfin.spark.sink.decisions import BatchName, History, Record
from tailfin.spark.sink.line import Line
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms

log = logging.getLogger("tailfin.spark")

PAGE = 32
FIRST_SPAN = 16
SPAN_GROWS = 4
HOLD_S = 0.5
TRY_AGAIN_S = 0.2


class DecisionLog:
    """The records of one query.

    What was read is remembered as long as the process lives: see `of`.
    """

    _open: ClassVar[PerProcess[tuple[str, str], "DecisionLog"]] = PerProcess()

    def __init__(self, line: Line, query: str) -> None:
        self._line = line
        self._query = query
        self._tag = BatchName(query, 0).tag
        self._topic = line.options.decisionTopic
        self._wire_topic = names.wrap(line.network.options.namespace, self._topic)
        self._queue: Queue | None = None
        self._next = -1
        self._oldest = 0
        self._history = History()

    @classmethod
    def of(cls, line: Line, query: str) -> "DecisionLog":
        """Return this process's log of a query."""
        return cls._open.get((repr(line.options), query), lambda: cls(line, query))

    def history(self, batch: int, *, is_new: bool = False) -> History:
        """Return what is decided by now, up to a batch.

        Args:
            batch: the one that counts; those before it may be left out.
            is_new: nobody can have written about this query yet.

        Raises:
            ClientError: the topic is gone, or its broker does not answer.
        """
        return self._line.run(self._catch_up(batch, is_new=is_new, may_create=batch == 0))

    async def look(self, batch: int) -> History:
        """Do the same where the connections live; nothing is made."""
        return await self._catch_up(batch, is_new=False, may_create=False)

    def append(self, records: list[Record]) -> History:
        """Write records, and return what is decided now that they are in the log.

        Raises:
            SendFailed: it is not known whether they are.
        """
        return self._line.run(self._append(records))

    async def _catch_up(self, batch: int, *, is_new: bool, may_create: bool) -> History:
        queue = await self._opened(may_create=may_create)
        if batch < self._oldest:
            # A query that was set back to an older checkpoint: what was forgotten counts again.
            self._next, self._history = -1, History()
        self._oldest = batch
        positions = Positions(self._line.network)
        end = max(await positions.end(queue), 0)
        if self._next < 0:
            if not is_new:
                for record in await self._backwards(queue, max(await positions.first(queue), 0), end, batch):
                    self._history.take(record)
            self._next = end
        else:
            await self._read_on(queue, end)
        self._history.forget_before(batch)
        return self._history

    async def _opened(self, *, may_create: bool) -> Queue:
        if self._queue is not None:
            return self._queue
        network = self._line.network
        servers = Servers(network)
        if await servers.find_route(self._wire_topic) is None:
            if not may_create:
                raise ClientError(
                    f"topic {self._topic!r}, where the decisions of {self._query} stand, is not there: "
                    "is its broker down? When it is gone for good, or exactly-once is new to this query, "
                    f"`tailfin topic create {self._topic} --queues 1 --broker NAME` makes it"
                )
            first = min(await servers.masters())
            await Topics(servers).create(self._wire_topic, queues=1, broker=first)
        route = await network.route(self._wire_topic, fresh=True)
        if len(route.subscribe) != 1:
            raise ConfigError(
                f"topic {self._topic!r} has {len(route.subscribe)} queues, and must have one, so that "
                "all that is in it has an order: name another, which is then made"
            )
        self._queue = route.subscribe[0]
        return self._queue

    async def _backwards(self, queue: Queue, low: int, high: int, batch: int) -> list[Record]:
        """Read from the end until an older batch shows up: all that is known of this one is behind it."""
        found: list[Record] = []
        span = FIRST_SPAN
        while high > low:
            start = max(low, high - span)
            before = await self._read(queue, start, high)
            found = before + found
            if any(record.name.batch < batch for record in before):
                break
            high, span = start, span * SPAN_GROWS
        return found

    async def _read_on(self, queue: Queue, end: int) -> None:
        for record in await self._read(queue, self._next, end):
            self._history.take(record)
        self._next = max(self._next, end)

    async def _read(self, queue: Queue, offset: int, end: int) -> list[Record]:
        """Return this query's records before an offset that the queue has, or will have in a moment."""
        wanted = subscription(queue.topic, self._tag, now_ms())
        found: list[Record] = []
        hold = 0.0
        deadline = time.monotonic() + self._line.options.sendTimeoutMs / 1000
        while offset < end:
            pulled = await pull_once(
                self._line.network,
                queue,
                group=GROUP,
                subscription=wanted,
                offset=offset,
                limit=PAGE,
                hold=hold,
            )
            for message in pulled.messages:
                if message.queue_offset < end:
                    record = Record.of(message.properties, message.body)
                    if record is not None and record.name.query == self._query:
                        found.append(record)
            if pulled.next_offset <= offset and time.monotonic() > deadline:
                raise ClientError(
                    f"topic {self._topic!r} on {queue.broker} does not give out offset {offset}, "
                    f"though it goes to {end}: the broker's dispatch is behind, or its log is damaged"
                )
            # What was just stored is dispatched in a moment.
            hold = HOLD_S if pulled.next_offset <= offset else 0.0
            offset = max(pulled.next_offset, offset)
        return found

    async def _append(self, records: list[Record]) -> History:
        queue = await self._opened(may_create=False)
        last = 0
        for record in records:
            last = (await self._send(record, queue)).queue_offset
        await self._read_on(queue, last + 1)
        return self._history

    async def _send(self, record: Record, queue: Queue) -> SendResult:
        """Send a record until it is acknowledged: one that is there twice says the same as once."""
        message = Message(
            self._topic, record.body, tags=self._tag, keys=self._query, properties=record.properties()
        )
        seconds = self._line.options.sendTimeoutMs / 1000
        deadline = time.monotonic() + seconds
        while True:
            try:
                return await self._line.producer.send(
                    message, queue=queue._replace(topic=self._topic), timeout=seconds
                )
            except (SendFailed, RemotingError) as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("%s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_S)
