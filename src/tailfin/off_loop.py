"""Blocking work on another thread that its caller never leaves behind."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what blocking work on another thread returns, also when the caller is cancelled meanwhile.

    A thread cannot be cancelled. Whoever stops a task that writes a file has to know that nobody writes it
    any more, so a cancellation is put off until the work is over: it comes at the caller's next `await`.
    """
    work = asyncio.ensure_future(asyncio.to_thread(act, *args, **kwargs))
    put_off = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            put_off = True
    if put_off and (task := asyncio.current_task()):
        task.cancel()
    return work.result()
