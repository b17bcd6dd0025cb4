"""Reading one queue ahead of whoever consumes it, and asking one once."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tailfin._engine import Reader, ReceivedMessage, decode_messages
from tailfin.client.consuming.judging import Next, after_pull
from tailfin.client.errors import NoBroker
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.client.routes import MASTER
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

log = logging.getLogger("tailfin.client")

TAKEN_AT_ONCE = 1024
SUSPEND, SUBSCRIPTION = 2, 4
ANSWERED = (
    ResponseCode.SUCCESS,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)


class Sink(Protocol):
    """Who hears of a reader's news, on the event loop."""

    def ready(self) -> None:
        """Hear that there are messages to take."""

    def moved(self, offset: int) -> None:
        """Hear that the queue has no message at the offset asked for, and that reading goes on elsewhere."""


class QueueReader:
    """The engine's reader of one queue, and what is decided when it stops.

    Args:
        network: what the consumer stands on.
        queue: which queue.
        group: the consumer group.
        subscription: what is wanted of the topic.
        offset: where to begin.
        sink: where messages go.
        trouble_pause: seconds to wait after a pull that failed.
        options: further arguments of the engine's reader: batches and limits.
    """

    def __init__(
        self,
        network: Network,
        queue: Queue,
        *,
        group: str,
        subscription: SubscriptionData,
        offset: int,
        sink: Sink,
        trouble_pause: float,
        options: Mapping[str, Any],
    ) -> None:
        self._network = network
        self._queue = queue
        self._sink = sink
        self._trouble_pause = trouble_pause
        self._loop = asyncio.get_running_loop()
        self._broker_id, self._address = network.master_or_slave(queue.broker)
        self._again: asyncio.TimerHandle | None = None
        self._troubled = False
        self._paused = False
        self._limits = options["max_messages"], options["max_bytes"]
        self._wanted: dict[str, Any] = {
            "group": group,
            "topic": queue.topic,
            "broker": queue.broker,
            "queue_id": queue.queue_id,
            "expression": subscription.sub_string or "*",
            "expression_type": subscription.expression_type or "TAG",
            "sub_version": subscription.sub_version,
            # Members that subscribe differently thus get what each asked for, whatever the broker remembers.
            "send_expression": True,
            "tags": subscription.tags_set or None,
            "namespace": network.options.namespace,
            **options,
        }
        self._reader = self._open(offset)

    @property
    def ready(self) -> int:
        """Messages that can be taken."""
        return self._reader.ready

    def take(self) -> list[ReceivedMessage]:
        """Take what there is. Any thread may call it."""
        return self._reader.take(TAKEN_AT_ONCE)

    @property
    def read_to(self) -> int | None:
        """How far the queue is read, if all of it was taken; else None."""
        # In this order: what arrives in between makes it None, not a promise too much.
        offset = self._reader.offset
        return offset if self._reader.ready == 0 else None

    @property
    def full(self) -> bool:
        """Whether nothing is pulled because enough is held."""
        count, size = self._reader.held
        return self._paused or count >= self._limits[0] or size >= self._limits[1]

    def pause(self) -> None:
        """Pull no more for now; what is held stays. Any thread may call it."""
        self._paused = True
        self._reader.pause()

    def resume(self) -> None:
        """Pull again. Any thread may call it."""
        self._paused = False
        self._reader.resume(address=self._address)

    def seek(self, offset: int) -> None:
        """Go on from another offset; what is under way is forgotten."""
        self._reader.seek(offset)

    def release(self, count: int, size: int) -> None:
        """Make room: messages were consumed."""
        self._reader.release(count, size)

    def close(self) -> None:
        """End."""
        if self._again is not None:
            self._again.cancel()
        self._network.carrier.forget(self._reader)
        self._reader.close()

    def _open(self, offset: int) -> Reader:
        reader = Reader(self._network.carrier.courier, self._address, offset=offset, **self._wanted)
        self._network.carrier.watch(reader, self._news)
        reader.resume()
        return reader

    def _news(self) -> None:
        reader = self._reader
        trouble = reader.trouble
        if reader.ready:
            self._sink.ready()
        if trouble is not None:
            self._decide(*trouble)
            return
        if self._troubled:
            self._troubled = False
            log.info("%s is read again at %s", self._queue, self._address)
        suggested = reader.suggested_broker_id
        if suggested not in (None, self._broker_id) and self._choose_broker(suggested) and not self._paused:
            reader.resume(address=self._address)

    def _decide(self, code: int, remark: str, next_offset: int) -> None:
        verdict = after_pull(code, self._trouble_pause)
        if verdict.next is Next.MOVE:
            self._sink.moved(next_offset)
            self._reader.seek(next_offset)
            self._reader.resume()
            return
        if verdict.next is Next.PULL and self._choose_broker(self._reader.suggested_broker_id):
            # The broker sent us to another of its members.
            self._reader.resume(address=self._address)
            return
        if code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED and self._wanted.get("lite"):
            # Brokers of generation 4 do not know the request of lite pull consumers: all use the same one.
            self._wanted["lite"] = False
            offset = self._reader.offset
            self.close()
            self._reader = self._open(offset)
            return
        if code < 0:
            self._network.mark_unreachable(self._address)
        level = logging.DEBUG if self._troubled or code == ResponseCode.FLOW_CONTROL else logging.WARNING
        self._troubled = True
        log.log(level, "%s cannot be read at %s now: %s (%d)", self._queue, self._address, remark, code)
        if self._again is None:
            self._again = self._loop.call_later(verdict.pause_s or self._trouble_pause, self._go_on)

    def _go_on(self) -> None:
        self._again = None
        self._choose_broker(self._broker_id)
        if not self._paused:
            self._reader.resume(address=self._address)

    def _choose_broker(self, preferred: int | None) -> bool:
        """Choose the preferred member of the broker, or one that answers; return whether it is another."""
        try:
            self._broker_id, address = self._network.master_or_slave(
                self._queue.broker, MASTER if preferred is None else preferred
            )
        except NoBroker as error:
            log.debug("%s stays with %s: %s", self._queue, self._address, error)
            return False
        if address == self._address:
            return False
        log.info("%s is read at %s now, not at %s", self._queue, address, self._address)
        self._address = address
        return True


@dataclass(frozen=True, slots=True)
class Pulled:
    """The answer to one pull that was not refused."""

    code: int
    messages: list[ReceivedMessage]
    next_offset: int
    min_offset: int
    max_offset: int


async def pull_once(
    network: Network,
    queue: Queue,
    *,
    group: str,
    subscription: SubscriptionData,
    offset: int,
    limit: int,
    hold: float,
) -> Pulled:
    """Ask a queue for messages once; raise RemotingError for answers that are not about messages."""
    header = PullMessageRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=offset,
        max_msg_nums=limit,
        sys_flag=SUBSCRIPTION | (SUSPEND if hold else 0),
        commit_offset=0,
        suspend_timeout_millis=int(hold * 1000),
        subscription=subscription.sub_string,
        sub_version=subscription.sub_version,
        expression_type=subscription.expression_type,
        bname=queue.broker,
    )
    _, address = network.master_or_slave(queue.broker)
    seconds = hold + network.options.request_timeout
    answer = await network.call(address, Code.PULL_MESSAGE, header=header, timeout=seconds, accept=ANSWERED)
    found = PullMessageResponseHeader.decode(answer.fields)
    messages = decode_messages(
        answer.body if answer.code == ResponseCode.SUCCESS else b"",
        broker=queue.broker,
        namespace=network.options.namespace,
        tags=subscription.tags_set or None,
    )
    return Pulled(answer.code, messages, found.next_begin_offset, found.min_offset, found.max_offset)
