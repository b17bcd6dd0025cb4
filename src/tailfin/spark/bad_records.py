"""Bodies that cannot be decoded."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from tailfin.client.messages import Message
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.per_process import PerProcess
from tailfin.client.queues import Queue
from tailfin.spark.errors import BadRecord
from tailfin.spark.offsets import said
from tailfin.spark.options import SourceOptions

if TYPE_CHECKING:
    from tailfin.client.blocking.producer import Producer

log = logging.getLogger("tailfin.spark")

GROUP = "TAILFIN_SPARK_DLQ"
ORIGIN = {
    "ORIGIN_TOPIC": "topic",
    "ORIGIN_BROKER": "brokerName",
    "ORIGIN_QUEUE_ID": "queueId",
    "ORIGIN_QUEUE_OFFSET": "queueOffset",
    "ORIGIN_MESSAGE_ID": "msgId",
}
"""Properties of a message in the `dlqTopic`, and the columns they come from."""


class BadRecords:
    """Does with bad records what the options say."""

    COLUMNS: ClassVar[frozenset[str]] = frozenset({*ORIGIN.values(), "tags", "keys", "body"})
    """The columns of messages that `handle` looks at."""

    _producers: ClassVar[PerProcess[ClientOptions, "Producer"]] = PerProcess()

    def __init__(self, options: SourceOptions, keywords: ClientKeywords) -> None:
        self._options = options
        self._keywords = keywords

    def handle(self, messages: pa.RecordBatch, bad: Mapping[int, str]) -> None:
        """Fail, drop, or send away; `bad` has the reasons by row."""
        rows = messages.take(pa.array(list(bad), pa.int64())).to_pylist()
        first = rows[0]
        queue = Queue(first["topic"], first["brokerName"], first["queueId"])
        reason = next(iter(bad.values()))
        if self._options.badRecords == "fail":
            raise BadRecord(
                f"the body of offset {first['queueOffset']} in {said(queue)} is not the "
                f"{self._options.format} that was asked for: {reason}; "
                "badRecords=drop or dlq goes on without it"
            )
        log.warning(
            "%d of %d bodies in %s are left out, the first at offset %d: %s",
            len(bad),
            messages.num_rows,
            said(queue),
            first["queueOffset"],
            reason,
        )
        if self._options.badRecords == "dlq":
            self._send([self._letter(row, why) for row, why in zip(rows, bad.values(), strict=True)])

    def _letter(self, row: Mapping[str, object], why: str) -> Message:
        body = row["body"]
        assert isinstance(body, bytes)
        properties = {name: str(row[column]) for name, column in ORIGIN.items()}
        tags, keys = row["tags"], row["keys"]
        return Message(
            self._options.dlqTopic,
            body,
            tags=str(tags) if tags else None,
            keys=str(keys).split(" ") if keys else (),
            properties={**properties, "DLQ_REASON": why},
        )

    def _send(self, letters: list[Message]) -> None:
        producer = self._producer()
        for receipt in [producer.send_soon(letter) for letter in letters]:
            receipt.result()

    def _producer(self) -> "Producer":
        from tailfin.client.blocking.producer import Producer

        def running() -> Producer:
            producer = Producer(GROUP, **self._keywords)
            producer.start()
            return producer

        return self._producers.get(ClientOptions(**self._keywords), running)
