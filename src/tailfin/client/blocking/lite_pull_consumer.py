"""The blocking lite pull consumer."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Unpack

from tailfin._engine import ReceivedMessage
from tailfin.client.blocking.face import Face
from tailfin.client.consuming import lite_pull
from tailfin.client.consuming.lite_options import LitePullKeywords
from tailfin.client.consuming.stats import ConsumerStats
from tailfin.client.consuming.subscriptions import Expression
from tailfin.client.errors import ClientStopped
from tailfin.client.queues import Queue


class LitePullConsumer(Face):
    """A consumer that is asked for messages: `poll`, or iterate over it; see `tailfin.aio.LitePullConsumer`.

    Args:
        group: name of the consumer group.
        subscribe: what to read: topics with `"*"`, tags (`"paid || shipped"`) or `Sql("amount > 100")`.
        **options: see `LitePullOptions`, `ReadSettings` and `ClientOptions`.

    Example:
        ```python
        with tailfin.LitePullConsumer("billing", subscribe={"orders": "*"}) as consumer:
            for message in consumer:
                print(message.body)
        ```
    """

    def __init__(
        self,
        group: str,
        *,
        subscribe: Mapping[str, Expression] | None = None,
        **options: Unpack[LitePullKeywords],
    ) -> None:
        self._core = lite_pull.LitePullConsumer(group, subscribe=subscribe, **options)
        super().__init__(self._core, "consumer")

    def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Read this member's share of a topic."""
        self._anytime(self._core.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self._anytime(self._core.unsubscribe(topic))

    def assign(self, queues: Iterable[Queue], expression: Expression = "*") -> None:
        """Read exactly these queues, whoever else reads them."""
        self._anytime(self._core.assign(queues, expression))

    def available_queues(self, topic: str) -> set[Queue]:
        """Return all queues of a topic."""
        return self._call(self._core.available_queues(topic))

    @property
    def queues(self) -> set[Queue]:
        """The queues that this consumer reads now."""
        return self._ask(lambda: self._core.queues)

    def pause(self, queues: Iterable[Queue]) -> None:
        """Leave queues out of polls for now."""
        self._ask(lambda: self._core.pause(queues))

    def resume(self, queues: Iterable[Queue]) -> None:
        """Poll queues again."""
        self._ask(lambda: self._core.resume(queues))

    def poll(self, timeout: float = 5.0, limit: int = lite_pull.POLL_LIMIT) -> list[ReceivedMessage]:
        """Return messages that are there, or the first that come within `timeout` seconds.

        What the poll before returned counts as consumed now.
        """
        return self._call(self._core.poll(timeout, limit))

    def __iter__(self) -> Iterator[ReceivedMessage]:
        while True:
            try:
                portion = self._call(self._core.next_portion())
            except ClientStopped:
                return
            if portion is None:
                return
            yield from portion.show()

    def seek(self, queue: Queue, offset: int) -> None:
        """Go on with a queue at an offset."""
        self._call(self._core.seek(queue, offset))

    def seek_to_begin(self, queue: Queue) -> None:
        """Go on with a queue at its first message."""
        self._call(self._core.seek_to_begin(queue))

    def seek_to_end(self, queue: Queue) -> None:
        """Go on with a queue after its last message."""
        self._call(self._core.seek_to_end(queue))

    def seek_to_time(self, queue: Queue, moment: datetime) -> None:
        """Go on with a queue at the first message that was stored at a time or later."""
        self._call(self._core.seek_to_time(queue, moment))

    def commit(self) -> None:
        """Count all that was polled as consumed, and commit it."""
        self._call(self._core.commit())

    def committed(self, queue: Queue) -> int | None:
        """Return the group's offset of a queue; None: it has none."""
        return self._call(self._core.committed(queue))

    def stats(self) -> ConsumerStats:
        """Return what the consumer did since its start, and what it holds now."""
        return self._ask(self._core.stats)
