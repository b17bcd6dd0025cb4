"""Handlers: what a user may give, and what their outcome means."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Handler = Callable[[Any], object] | Callable[[Any], Awaitable[object]]

DELAY_LEVEL_MAX = 18


@dataclass(frozen=True, slots=True)
class Retry:
    """A handler's answer: give me this message again later.

    Args:
        delay_level: 1 to 18: after 1 s, 5 s, 10 s, 30 s, 1 min ... 2 h. 0 leaves it to the broker, which
            waits longer each time. -1 makes the message a dead letter at once. Ordered consumers, which
            keep the queue waiting, try again after `suspend` seconds whatever the level is.

    Example:
        ```python
        def handle(message):
            if not ready():
                return tailfin.Retry(delay_level=5)
        ```
    """

    delay_level: int = 0

    def __post_init__(self) -> None:
        if not -1 <= self.delay_level <= DELAY_LEVEL_MAX:
            raise ValueError(f"a delay level is -1 to {DELAY_LEVEL_MAX}, not {self.delay_level}")


RETRY = Retry()
"""A handler's answer: give me this message again later."""


def judged(outcome: object) -> Retry | None:
    """Say what a handler's return value means: None: the messages are consumed."""
    if outcome is None or outcome is True:
        return None
    if isinstance(outcome, Retry):
        return outcome
    if outcome is False:
        return RETRY
    if inspect.isawaitable(outcome):
        close = getattr(outcome, "close", None)
        if close is not None:
            close()
        raise TypeError("the handler returned something to await: write it with `async def`")
    return None


def is_async(handler: Handler) -> bool:
    """Whether a handler is a coroutine function, or an object that is called like one."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004  # not whether it can be called, but how
    )


def check_handler(handler: object) -> None:
    """Refuse what cannot be called with one argument."""
    if not callable(handler):
        raise TypeError(f"a handler is a function or a coroutine function, not {handler!r}")
    try:
        signature = inspect.signature(handler)
    except ValueError:  # written in C, and does not say
        return
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(
            f"a handler takes one argument, the message, or the list of them when batch_size is above 1; "
            f"{getattr(handler, '__qualname__', handler)} takes {signature}"
        ) from None
