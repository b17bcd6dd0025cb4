"""Hooks round a handler: users' own, and the trace."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tailfin._engine import ReceivedMessage
from tailfin.client.consuming.handlers import judged
from tailfin.client.hooks import Consuming, Hook, overriding

log = logging.getLogger("tailfin.client")


class Hooked:
    """Calls a handler with the hooks before and after it."""

    def __init__(self, hooks: Sequence[Hook], group: str, namespace: str | None) -> None:
        self._hooks = overriding(hooks, "before_consume", "after_consume")
        self._group = group
        self._namespace = namespace

    def plain(self, handler: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a handler that calls the hooks too."""
        if not self._hooks:
            return handler

        def call(given: Any) -> object:  # noqa: ANN401  # a message, or a list of them
            consuming = self._before(given)
            try:
                outcome = handler(given)
            except BaseException as error:
                self._after(consuming, None, error)
                raise
            self._after(consuming, outcome, None)
            return outcome

        return call

    def awaited(self, handler: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[object]]:
        """Return a coroutine function that calls the hooks too."""
        if not self._hooks:
            return handler

        async def call(given: Any) -> object:  # noqa: ANN401  # a message, or a list of them
            consuming = self._before(given)
            try:
                outcome = await handler(given)
            except BaseException as error:
                self._after(consuming, None, error)
                raise
            self._after(consuming, outcome, None)
            return outcome

        return call

    def _before(self, given: Any) -> Consuming:  # noqa: ANN401  # a message, or a list of them
        messages = given if isinstance(given, list) else [given]
        consuming = Consuming(self._group, messages, messages[0].queue, self._namespace)
        self._each(lambda hook: hook.before_consume(consuming))
        return consuming

    def _after(self, consuming: Consuming, outcome: object, error: BaseException | None) -> None:
        consuming.error = error
        consuming.success = error is None and judged(outcome) is None
        consuming.status = "CONSUME_SUCCESS" if consuming.success else "RECONSUME_LATER"
        self._each(lambda hook: hook.after_consume(consuming))

    def _each(self, act: Callable[[Hook], None]) -> None:
        for hook in self._hooks:
            try:
                act(hook)
            except Exception:
                log.exception("a hook of group %s failed; consuming goes on", self._group)


def keeping(hooks: Sequence[Hook], group: str) -> Callable[[ReceivedMessage], bool] | None:
    """Return what says whether the hooks let a message through; None: nobody asks."""
    if not hooks:
        return None

    def keep(message: ReceivedMessage) -> bool:
        for hook in hooks:
            try:
                if not hook.keep(group, message):
                    return False
            except Exception:
                log.exception("a hook of group %s failed; the message is kept", group)
        return True

    return keep
