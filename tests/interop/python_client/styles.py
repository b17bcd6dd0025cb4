"""Both styles of the client behind the same calls, so that one test shows both."""

# ruff: noqa: ANN401  # `Awaited` stands for any of the clients

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, cast

import tailfin
from tailfin import aio

Name = Literal["blocking", "asyncio"]
Heard = Callable[[Any], object]

PATIENCE_S = 60.0
"""Longer than whatever is waited for: a test that hangs should say where."""

QUICK: dict[str, Any] = {
    "pull_hold": 2.0,
    "pull_timeout": 30.0,
    "trouble_pause": 0.2,
    "retry_pause": 0.2,
    "commit_interval": 0.2,
    "rebalance_interval": 1.0,
    "lock_interval": 1.0,
}
"""Intervals of a consumer that looks often."""


class Style:
    """Makes clients of one style for one cluster; whatever is called on them waits for its end."""

    def __init__(self, name: Name, nameserver: str, loop: asyncio.AbstractEventLoop) -> None:
        self.name = name
        self._nameserver = nameserver
        self._loop = loop

    def producer(self, group: str, **options: Any) -> tailfin.Producer:
        """Make a producer; it is patient, since the servers of a test share few cores."""
        options = {"nameserver": self._nameserver, "timeout": 30.0, **options}
        if self.name == "blocking":
            return tailfin.Producer(group, **options)
        return cast("tailfin.Producer", Awaited(aio.Producer(group, **options), self._loop))

    def push(self, group: str, handler: Heard, **options: Any) -> tailfin.PushConsumer:
        """Make a push consumer; its handler is a coroutine function where that is the style."""
        options = {"nameserver": self._nameserver, **QUICK, **options}
        if self.name == "blocking":
            return tailfin.PushConsumer(group, handler=handler, **options)
        return cast(
            "tailfin.PushConsumer",
            Awaited(aio.PushConsumer(group, handler=_awaited(handler), **options), self._loop),
        )

    def lite(self, group: str, **options: Any) -> tailfin.LitePullConsumer:
        """Make a lite pull consumer."""
        options = {"nameserver": self._nameserver, **QUICK, **options}
        if self.name == "blocking":
            return tailfin.LitePullConsumer(group, **options)
        return cast("tailfin.LitePullConsumer", Awaited(aio.LitePullConsumer(group, **options), self._loop))

    def replying(self, producer: tailfin.Producer, answer: Callable[[Any], bytes]) -> Heard:
        """Make a handler's act that replies to each message, in the handler's own loop."""
        core = producer if self.name == "blocking" else cast("Awaited", producer).core
        return lambda request: core.reply(request, answer(request))

    def send_soon(
        self, producer: tailfin.Producer, messages: Iterable[tailfin.Message], **options: Any
    ) -> list[tailfin.SendResult]:
        """Send messages that travel together, and wait for all results."""
        if self.name == "blocking":
            receipts = [producer.send_soon(message, **options) for message in messages]
            return [receipt.result(PATIENCE_S) for receipt in receipts]
        core: aio.Producer = cast("Awaited", producer).core

        async def send() -> list[tailfin.SendResult]:
            receipts = [await core.send_soon(message, **options) for message in messages]
            return [await receipt for receipt in receipts]

        return asyncio.run_coroutine_threadsafe(send(), self._loop).result(PATIENCE_S)

    def pull(self, group: str) -> tailfin.PullConsumer:
        """Make a pull consumer."""
        if self.name == "blocking":
            return tailfin.PullConsumer(group, nameserver=self._nameserver)
        core = aio.PullConsumer(group, nameserver=self._nameserver)
        return cast("tailfin.PullConsumer", Awaited(core, self._loop))


def _awaited(handler: Heard) -> Callable[[Any], Awaitable[object]]:
    async def handle(given: Any) -> object:
        outcome = handler(given)
        return await outcome if inspect.isawaitable(outcome) else outcome

    return handle


class Awaited:
    """An asyncio object in a loop that runs elsewhere: calls wait for it, `with` and `for` work."""

    def __init__(self, core: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.core = core
        self._loop = loop

    def __enter__(self) -> Any:
        entered = self._wait(self.core.__aenter__)
        return self if entered is self.core else entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool:
        return bool(self._wait(self.core.__aexit__, kind, error, where))

    def __iter__(self) -> Iterator[Any]:
        steps = aiter(self.core)
        while (found := self._wait(anext, steps, None)) is not None:
            yield found

    def __getattr__(self, name: str) -> Any:
        found = self._wait(getattr, self.core, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            result = self._wait(found, *args, **options)
            return Awaited(result, self._loop) if hasattr(result, "__aenter__") else result

        return call

    def _wait(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        async def step() -> Any:
            result = call(*args, **options)
            return await result if inspect.isawaitable(result) else result

        return asyncio.run_coroutine_threadsafe(step(), self._loop).result(PATIENCE_S)


@contextlib.contextmanager
def loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread, for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="asyncio-style")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
