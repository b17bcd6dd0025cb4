"""The rows of one task on their way."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from tailfin._engine import Tally
from tailfin.client.errors import MessageRefused
from tailfin.client.queues import Queue
from tailfin.client.retrying import Ended, failure
from tailfin.copying import OF_THE_FIRST_MESSAGE
from tailfin.spark.sink.decisions import Halves
from tailfin.spark.sink.line import Line

SAID_BY_A_COLUMN = {"tags": "TAGS", "keys": "KEYS", "shardingkey": "__SHARDINGKEY"}


class Sending:
    """Sends a task's rows, and knows what became of them.

    Args:
        line: the process's line.
        marks: properties that make rows halves, with whose they are; None: rows are plain messages.
    """

    def __init__(self, line: Line, marks: Mapping[str, str] | None = None) -> None:
        self._line = line
        self._marks = marks
        self._tally = Tally(handles=marks is not None)

    def send(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Send all rows, and wait until brokers have them; return how many there are.

        Raises:
            MessageRefused: a row that no broker would take.
            SendFailed: a row was not acknowledged; the text gives the first reason.
        """
        for batch in batches:
            self._post(batch)
            if self._tally.failure:
                break
        self._line.outbox.flush()
        self._tally.wait()
        self._check()
        return self._tally.stored

    def _post(self, batch: pa.RecordBatch) -> None:
        options = self._line.options
        start, unopened = 0, ""
        while True:
            try:
                stopped = self._line.outbox.post_arrow(
                    batch,
                    self._tally,
                    start=start,
                    topic=options.topic or None,
                    properties=self._marks,
                    left_out=left_out(batch.schema.names),
                    window=options.maxInFlight if self._marks else 0,
                )
            except ValueError as error:
                raise MessageRefused(str(error)) from None
            if stopped is None:
                return
            start, topic = stopped
            if topic == unopened:
                raise MessageRefused(f"topic {topic!r} has no queue that takes messages")
            unopened = topic
            self._line.run(self._line.production.posting.open(topic))

    def _check(self) -> None:
        if self._tally.failure is None:
            return
        code, remark, topic, broker, queue_id, tries = self._tally.failure
        seconds = self._line.options.sendTimeoutMs / 1000
        raise failure(Ended(code, remark, 0.0), Queue(topic, broker, queue_id), tries, seconds)

    def halves(self) -> list[Halves]:
        """Return where the halves stand that are stored."""
        return [Halves(*each) for each in self._tally.handles()]

    def settle(self) -> None:
        """Wait until nothing is under way, whatever it comes to."""
        self._line.outbox.flush()
        self._tally.wait()


def left_out(columns: Iterable[str]) -> frozenset[str]:
    """Return the names that rows with these columns lose of their `properties`."""
    given = {name.lower() for name in columns}
    return OF_THE_FIRST_MESSAGE | {name for column, name in SAID_BY_A_COLUMN.items() if column in given}
