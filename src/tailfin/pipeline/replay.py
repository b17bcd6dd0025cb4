"""Messages of Parquet files sent to topics again, in the order of their queues: `tailfin pipeline replay`."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tailfin.client.blocking.producer import Producer
from tailfin.client.letters import Select
from tailfin.client.messages import Message
from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.copying import another_message
from tailfin.pipeline.sentences import sentence, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GROUP = "tailfin-replay"
CHUNK = 256
NEEDED = ("topic", "brokerName", "queueId", "queueOffset", "body", "storeTimestamp")
FIRST_ID = "REPLAYED_MSG_ID"
"""Property of a copy: the id of the message that it is a copy of."""


class Stored(NamedTuple):
    """A message as the files have it."""

    queue: Queue
    message_id: str | None
    body: bytes
    flag: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Selection:
    """What is replayed.

    Attributes:
        path: the Parquet files.
        topics: only of these topics; none: of all.
        start: stored at or after this time, in milliseconds since the epoch.
        end: stored before this time.
    """

    path: str
    topics: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a run did: how many messages it sent, and how many there are."""

    sent: int
    total: int


Show = Callable[[int, int], None]
"""Called with how many are sent, and of how many."""


def select(session: "SparkSession", selection: Selection) -> "DataFrame":
    """Return the messages to replay, in the order to send them.

    Raises:
        ConfigError: there are no such files, or they hold no messages.
    """
    from pyspark.sql import Window, functions

    try:
        frame = session.read.parquet(selection.path)
    except spark_errors() as error:
        raise ConfigError(f"{selection.path} cannot be read: {sentence(error)}") from None
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise ConfigError(
            f"{selection.path} holds no archived messages: there is no column {', '.join(missing)}"
        )
    frame = frame.withColumn("topic", functions.col("topic").cast("string"))
    if selection.topics:
        frame = frame.where(functions.col("topic").isin(*selection.topics))
    stored = functions.col("storeTimestamp")
    if selection.start is not None:
        frame = frame.where(stored >= functions.timestamp_millis(functions.lit(selection.start)))
    if selection.end is not None:
        frame = frame.where(stored < functions.timestamp_millis(functions.lit(selection.end)))
    # Clocks go back at times, offsets never: within a queue no message may come before an earlier one.
    queue = ("topic", "brokerName", "queueId")
    within = Window.partitionBy(*queue).orderBy("queueOffset")
    frame = frame.withColumn("_turn", functions.max(stored).over(within))
    wanted = [name for name in ("msgId", "flag", "tags", "keys", "properties") if name in frame.columns]
    return frame.orderBy("_turn", *queue, "queueOffset").select(*NEEDED, *wanted)


def replay(
    frame: "DataFrame",
    producer: Producer,
    *,
    to: str | None = None,
    rate: float | None = None,
    skip: int = 0,
    stop: threading.Event,
    show: Show,
) -> Replayed:
    """Send messages again.

    Args:
        frame: the messages, in order.
        producer: what sends them.
        to: the topic they go to; None: their own.
        rate: at most so many a second.
        skip: leave out so many.
        stop: when it is set, what is under way is sent and no more.
        show: is told how far it is.
    """
    frame = frame.cache()
    try:
        total, sent, pace = frame.count(), skip, Pace(rate)
        size = CHUNK if rate is None else max(1, min(CHUNK, int(rate / 10)))
        rows = islice(frame.toLocalIterator(prefetchPartitions=True), skip, None)
        for chunk in chunked(map(stored, rows), size):
            send(producer, chunk, to)
            sent += len(chunk)
            show(sent, total)
            if stop.wait(pace.pause(sent - skip)):
                break
        return Replayed(sent, total)
    finally:
        frame.unpersist()


class Pace:
    """A rate that is kept from the beginning on."""

    def __init__(self, rate: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._now = now
        self._began = now()

    def pause(self, sent: int) -> float:
        """Return for how many seconds to wait after so many were sent."""
        if self._rate is None:
            return 0.0
        return max(0.0, sent / self._rate - (self._now() - self._began))


def chunked(rows: Iterator[Stored], size: int) -> Iterator[list[Stored]]:
    """Yield rows in lists of a size."""
    while chunk := list(islice(rows, size)):
        yield chunk


def stored(row: Any) -> Stored:  # noqa: ANN401  # a row of Spark's
    """Read a row."""
    fields: dict[str, Any] = row.asDict()
    properties = dict(fields.get("properties") or {})
    for column, name in (("tags", "TAGS"), ("keys", "KEYS")):
        if fields.get(column):
            properties.setdefault(name, fields[column])
    return Stored(
        Queue(fields["topic"], fields["brokerName"], fields["queueId"]),
        fields.get("msgId"),
        bytes(fields["body"]),
        fields.get("flag") or 0,
        properties,
    )


def send(producer: Producer, chunk: Iterable[Stored], to: str | None) -> None:
    """Send messages, those of one queue together and in order."""
    of_queue = sorted(chunk, key=lambda each: each.queue)  # a stable sort
    for queue, group in groupby(of_queue, key=lambda each: each.queue):
        messages = [copy(each, to or queue.topic) for each in group]
        producer.send_batch(messages, select=_to_namesake(queue))


def _to_namesake(queue: Queue) -> Select:
    return lambda queues, _: target(queue, queues)


def copy(message: Stored, topic: str) -> Message:
    """Return a message to send in the place of a stored one: the user's properties, and a new id."""
    properties = another_message(message.properties)
    if message.message_id:
        properties.setdefault(FIRST_ID, message.message_id)
    return Message(topic, message.body, properties=properties, flag=message.flag)


def target(queue: Queue, queues: Sequence[Queue]) -> Queue:
    """Return the queue that takes the messages of another: its namesake, else always the same one."""
    for each in queues:
        if (each.broker, each.queue_id) == (queue.broker, queue.queue_id):
            return each
    return queues[queue.queue_id % len(queues)]
