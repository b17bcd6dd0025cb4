"""One stretch of a queue, pulled ahead by the engine: what to do when a pull is not answered as it should."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailfin._engine import Courier, Reader
from tailfin.arrow.needing import pyarrow
from tailfin.client.blocking.portal import Portal
from tailfin.client.errors import ClientError, ReadFailed
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.client.routes import MASTER
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.codes import ResponseCode

if TYPE_CHECKING:
    import pyarrow as pa

LOOK_EVERY_S = 5.0
ANSWER_S = 10.0
"""After so long without an answer another member of the broker is asked."""
BATCHES_AHEAD = 4
"""Batches that are full by their bytes may be ready before the first is taken."""
PAUSE_S = 0.1
PAUSE_S_MAX = 2.0

_MAY_PASS = frozenset(
    {
        ResponseCode.RPC_SEND_TO_CHANNEL_FAILED,
        ResponseCode.RPC_TIME_OUT,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.FLOW_CONTROL,
    }
)


@dataclass(frozen=True, slots=True)
class Loss:
    """Messages that were to be read and are gone: from `start` to before `end`."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Pull:
    """How a queue is read; see `RangeReader.read`."""

    queue: Queue
    group: str
    subscription: SubscriptionData
    rows: int
    bytes: int
    batch: int
    timeout: float
    columns: tuple[str, ...]


class Access:
    """The way to the members of the broker that has a queue.

    Attributes:
        courier: who carries pulls.
        member: the id of the member that is read from now.
        address: its address.
    """

    def __init__(self, portal: Portal, network: Network, courier: Courier, queue: Queue) -> None:
        self._portal = portal
        self._network = network
        self._queue = queue
        self.courier = courier
        self.member, self.address = portal.call(self._choose(MASTER, None))

    @property
    def namespace(self) -> str | None:
        """Taken off the topics that users see."""
        return self._network.options.namespace

    def turn(self, preferred: int, *, silent: str | None = None) -> None:
        """Choose a member of the broker; `silent` is the address of one that did not answer."""
        # Without any for now, there is no better place than where we are.
        with contextlib.suppress(ClientError):
            self.member, self.address = self._portal.call(self._choose(preferred, silent))

    async def _choose(self, preferred: int, silent: str | None) -> tuple[int, str]:
        if silent is not None:
            self._network.mark_unreachable(silent)
        await self._network.route(self._queue.topic, fresh=silent is not None)
        return self._network.master_or_slave(self._queue.broker, preferred)


class Stretch:
    """Reads one stretch of a queue; pulls begin when it is made.

    Args:
        access: the way to the broker.
        pull: how to read.
        start: the first offset.
        end: the one after the last.
        is_whole: whether every message is wanted, so that one that does not come is lost.
    """

    def __init__(self, access: Access, pull: Pull, start: int, end: int, *, is_whole: bool) -> None:
        self._access = access
        self._pull = pull
        self._end = end
        self._is_whole = is_whole
        self._next = start
        self._tries = 0
        self._patient_until = 0.0
        self._address = access.address
        self._reader = self._open()
        self._reader.resume()

    def _open(self) -> Reader:
        pull, wanted = self._pull, self._pull.subscription
        return Reader(
            self._access.courier,
            self._address,
            group=pull.group,
            topic=pull.queue.topic,
            broker=pull.queue.broker,
            queue_id=pull.queue.queue_id,
            offset=self._next,
            until=self._end,
            gather=(pull.rows, pull.bytes, pull.columns),
            expression=wanted.sub_string or "*",
            expression_type=wanted.expression_type or "TAG",
            sub_version=wanted.sub_version,
            send_expression=True,
            tags=wanted.tags_set or None,
            batch=pull.batch,
            suspend_ms=0,
            timeout_ms=max(int(min(pull.timeout, ANSWER_S) * 1000), 1),
            max_messages=pull.rows,
            max_bytes=pull.bytes * BATCHES_AHEAD,
            namespace=self._access.namespace,
        )

    def close(self) -> None:
        """Pull no more."""
        self._reader.close()

    def __iter__(self) -> "Iterator[pa.RecordBatch | Loss]":
        """Yield what is there, in order, and what is not."""
        arrow = pyarrow()
        while not self._reader.finished:
            found = self._reader.collect(LOOK_EVERY_S)
            if found is not None:
                self._tries = 0
                batch = arrow.record_batch(found)
                yield from self._missing(batch.column("queueOffset"))
                yield batch
            elif trouble := self._reader.trouble:
                loss = self._decide(*trouble)
                if loss is not None:
                    yield loss
        if self._is_whole and self._next < self._end:
            yield self._lost(self._end, "the broker went on behind them")

    def _missing(self, offsets: "pa.Array") -> Iterator[Loss]:
        """Yield what is missing before and between messages, and note how far the queue was read."""
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        if self._is_whole and (first > self._next or last - first + 1 > len(offsets)):
            for offset in offsets.to_pylist():
                if offset > self._next:
                    yield self._lost(offset, "the broker went on behind them")
                self._next = offset + 1
        self._next = last + 1

    def _lost(self, end: int, why: str) -> Loss:
        loss = Loss(self._next, min(end, self._end), why)
        self._next = loss.end
        return loss

    def _decide(self, code: int, remark: str, next_offset: int) -> Loss | None:
        """Answer a trouble: go on elsewhere, go on behind what is lost, or give up."""
        if code in (ResponseCode.PULL_OFFSET_MOVED, ResponseCode.PULL_NOT_FOUND):
            if self._access.member != MASTER and self._turn_to(MASTER):
                # A slave may not have everything yet.
                return None
            if next_offset > self._next and code == ResponseCode.PULL_OFFSET_MOVED:
                loss = self._lost(next_offset, f"the queue begins at {next_offset} now")
                self._reader.resume(offset=self._next)
                return loss
            loss = self._lost(self._end, f"the queue ends at {self._reader.max_offset} now")
            self._reader.resume(offset=self._end)
            return loss
        if code not in _MAY_PASS:
            raise ReadFailed(self._text(remark, code), code=code)
        self._wait_or_give_up(code, remark)
        suggested = self._reader.suggested_broker_id
        wanted = suggested if code == ResponseCode.PULL_RETRY_IMMEDIATELY else None
        if not self._turn_to(
            MASTER if wanted is None else wanted, silent=self._address if code < 0 else None
        ):
            self._reader.resume()
        return None

    def _wait_or_give_up(self, code: int, remark: str) -> None:
        now = time.monotonic()
        if self._tries == 0:
            self._patient_until = now + self._pull.timeout
        elif now >= self._patient_until:
            raise ReadFailed(
                f"{self._text(remark, code)}; gave up after {self._tries} tries in {self._pull.timeout:g} s",
                code=code,
            )
        time.sleep(min(PAUSE_S * 2**self._tries, PAUSE_S_MAX))
        self._tries += 1

    def _turn_to(self, preferred: int, *, silent: str | None = None) -> bool:
        """Read on at another member of the broker, if there is one."""
        self._access.turn(preferred, silent=silent)
        if self._access.address == self._address:
            return False
        self._address = self._access.address
        self._reader.resume(offset=self._next, address=self._address)
        return True

    def _text(self, remark: str, code: int) -> str:
        topic, broker, queue_id = self._pull.queue
        return f"{topic} queue {queue_id} on {broker} ({self._address}) cannot be read: {remark} ({code})"
