"""The push consumer: messages come to a handler."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack

from tailfin.client.checking import check_group
from tailfin.client.consuming.describing import stats_of
from tailfin.client.consuming.handlers import Handler, check_handler
from tailfin.client.consuming.push_options import PushKeywords, split_keywords
from tailfin.client.consuming.push_running import Running
from tailfin.client.consuming.stats import ConsumerStats
from tailfin.client.consuming.subscriptions import Expression, check_subscriptions
from tailfin.client.errors import ClientError, ClientStopped
from tailfin.client.queues import Queue

H = TypeVar("H", bound=Handler)


class PushConsumer:
    """A member of a consumer group whose messages come to a handler.

    The handler is a function (called in threads) or a coroutine function (awaited in tasks). When it returns
    None or True, the message is consumed. When it raises, or returns `RETRY`, `Retry(...)` or False, the
    message comes again later; after `max_reconsume_times` it goes to the group's dead letters.

    Args:
        group: name of the consumer group; its members share the messages.
        subscribe: what to read: topics with `"*"`, tags (`"paid || shipped"`) or `Sql("amount > 100")`.
        handler: see above; or use the decorator `@consumer.handler`.
        **options: see `PushOptions`, `ReadSettings` and `ClientOptions`.

    Example:
        ```python
        async def bill(message):
            await charge(message.body)


        async with tailfin.aio.PushConsumer(
            "billing", nameserver="127.0.0.1:9876", subscribe={"orders": "paid"}, handler=bill
        ):
            await asyncio.Event().wait()
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
        check_group(group)
        self._client, self._settings, self._options = split_keywords(options)
        self._client.nameservers()
        self._name = group
        self._subscribed = check_subscriptions(subscribe or {})
        self._handler: Handler | None = None
        if handler is not None:
            self.handler(handler)
        self._running: Running | None = None

    def handler(self, function: H) -> H:
        """Set the handler; usable as a decorator.

        Example:
            ```python
            @consumer.handler
            def bill(message): ...
            ```
        """
        check_handler(function)
        if self._handler is not None:
            raise ClientError(
                f"the consumer of group {self._name!r} has a handler already: {self._handler!r}"
            )
        self._handler = function
        return function

    async def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Read a topic, or read it by another expression; before the start, or while the consumer runs."""
        self._subscribed |= check_subscriptions({topic: expression})
        if self._running is not None:
            await self._running.resubscribe(topic, expression)

    async def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self._subscribed.pop(topic, None)
        if self._running is not None:
            await self._running.resubscribe(topic, None)

    async def start(self) -> None:
        """Join the group and begin to read.

        When this returns, whatever is sent to a queue of this member comes to its handler.

        Raises:
            ClientError: there is no handler or no subscription, or no name server answers.
        """
        if self._running is not None:
            raise ClientError(f"the consumer of group {self._name!r} is running already")
        if self._handler is None:
            raise ClientError("there is no handler: pass handler=..., or use the decorator @consumer.handler")
        if not self._subscribed:
            raise ClientError('nothing is subscribed to: pass subscribe={"topic": "*"}')
        running = Running(self._name, self._handler, self._client, self._settings, self._options)
        for topic, expression in self._subscribed.items():
            running.group.subscribe(topic, expression)
        self._running = running
        try:
            await running.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Let handlers that run finish, within `stop_timeout`, commit, and leave the group."""
        running = self._running
        if running is not None:
            running.group.network.check_loop()
            self._running = None
            await running.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    def pause(self) -> None:
        """Call the handler no more for now; calls that run go on."""
        self._started().dispatcher.pause()

    def resume(self) -> None:
        """Call the handler again."""
        self._started().dispatcher.resume()

    def stats(self) -> ConsumerStats:
        """Return what the consumer did since its start, and what it holds now."""
        running = self._started()
        return stats_of(running.group, running.dispatcher, running.failures)

    @property
    def queues(self) -> set[Queue]:
        """The queues that this member reads now, those with the group's retries included."""
        group = self._started().group
        return {group.queue_for_user(queue) for queue in group.readings.queues}

    def _started(self) -> Running:
        if self._running is None:
            raise ClientStopped("the consumer is not running: call start(), or use it in a `with` block")
        return self._running
