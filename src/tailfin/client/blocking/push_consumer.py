"""The blocking push consumer."""

from collections.abc import Mapping
from typing import TypeVar, Unpack

from tailfin.client.blocking.face import Face
from tailfin.client.consuming import push
from tailfin.client.consuming.handlers import Handler
from tailfin.client.consuming.push_options import PushKeywords
from tailfin.client.consuming.stats import ConsumerStats
from tailfin.client.consuming.subscriptions import Expression
from tailfin.client.queues import Queue

H = TypeVar("H", bound=Handler)


class PushConsumer(Face):
    """A member of a consumer group whose messages come to a handler; see `tailfin.aio.PushConsumer`.

    Args:
        group: name of the consumer group; its members share the messages.
        subscribe: what to read: topics with `"*"`, tags (`"paid || shipped"`) or `Sql("amount > 100")`.
        handler: a function, called in threads, or a coroutine function; or use `@consumer.handler`. None and
            True mean that the message is consumed; an exception, `RETRY`, `Retry(...)` or False that it
            comes again later.
        **options: see `PushOptions`, `ReadSettings` and `ClientOptions`.

    Example:
        ```python
        with tailfin.PushConsumer(
            "billing", nameserver="127.0.0.1:9876", subscribe={"orders": "paid"}, handler=print
        ):
            input()
        ```
    """

    def __init__(
        self,
        group: str,
        *,
        subscribe: Mapping[str, Expression] | None = None,
        handler: Handler | None = None,
        **options: Unpack[PushKeywords],
    ) -> None:
        self._core = push.PushConsumer(group, subscribe=subscribe, handler=handler, **options)
        super().__init__(self._core, "consumer")

    def handler(self, function: H) -> H:
        """Set the handler; usable as a decorator."""
        return self._core.handler(function)

    def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Read a topic, or read it by another expression; before the start, or while the consumer runs."""
        self._anytime(self._core.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self._anytime(self._core.unsubscribe(topic))

    def pause(self) -> None:
        """Call the handler no more for now; calls that run go on."""
        self._ask(self._core.pause)

    def resume(self) -> None:
        """Call the handler again."""
        self._ask(self._core.resume)

    def stats(self) -> ConsumerStats:
        """Return what the consumer did since its start, and what it holds now."""
        return self._ask(self._core.stats)

    @property
    def queues(self) -> set[Queue]:
        """The queues that this member reads now, those with the group's retries included."""
        return self._ask(lambda: self._core.queues)
