"""The blocking pull consumer."""

from datetime import datetime
from typing import Unpack

from tailfin.client.blocking.face import Face
from tailfin.client.consuming import pull
from tailfin.client.consuming.pull import PullResult
from tailfin.client.consuming.subscriptions import Expression
from tailfin.client.options import ClientKeywords
from tailfin.client.queues import Queue


class PullConsumer(Face):
    """Reads single queues from given offsets; see `tailfin.aio.PullConsumer`.

    Args:
        group: name of the consumer group, under which offsets are committed.
        **options: see `ClientOptions`.

    Example:
        ```python
        with tailfin.PullConsumer("audit", nameserver="127.0.0.1:9876") as consumer:
            for queue in consumer.queues("orders"):
                result = consumer.pull(queue, consumer.first_offset(queue))
        ```
    """

    def __init__(self, group: str, **options: Unpack[ClientKeywords]) -> None:
        self._core = pull.PullConsumer(group, **options)
        super().__init__(self._core, "consumer")

    def queues(self, topic: str) -> list[Queue]:
        """Return the queues of a topic, sorted."""
        return self._call(self._core.queues(topic))

    def pull(
        self, queue: Queue, offset: int, limit: int = 32, expression: Expression = "*", *, hold: float = 0.0
    ) -> PullResult:
        """Ask a queue for messages; see `tailfin.aio.PullConsumer.pull`."""
        return self._call(self._core.pull(queue, offset, limit, expression, hold=hold))

    def committed(self, queue: Queue) -> int | None:
        """Return the group's offset of a queue; None: it has none."""
        return self._call(self._core.committed(queue))

    def commit(self, queue: Queue, offset: int) -> None:
        """Set the group's offset of a queue."""
        self._call(self._core.commit(queue, offset))

    def first_offset(self, queue: Queue) -> int:
        """Return the offset of a queue's first message."""
        return self._call(self._core.first_offset(queue))

    def end_offset(self, queue: Queue) -> int:
        """Return the offset after a queue's last message."""
        return self._call(self._core.end_offset(queue))

    def offset_at(self, queue: Queue, moment: datetime) -> int:
        """Return the offset of a queue's first message that was stored at a time or later."""
        return self._call(self._core.offset_at(queue, moment))
