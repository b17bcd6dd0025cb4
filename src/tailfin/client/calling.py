"""Calling users' functions, plain or async, without letting one hold up the client."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any


async def call_user(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  # the user's
    """Return what a user's function returns; a plain one runs in a thread of its own.

    The thread is a daemon: a function that never returns does not keep the interpreter alive.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Any] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result(result) if error is None else outcome.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = function(*arguments)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # The loop is closed: the client was stopped while the function ran.
            return

    threading.Thread(target=run, name="tailfin-user", daemon=True).start()
    result = await outcome
    return await result if inspect.isawaitable(result) else result
