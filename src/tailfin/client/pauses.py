"""Waiting that can be cut short."""

import asyncio
import contextlib


async def pause(wanted: asyncio.Event, seconds: float) -> None:
    """Wait for a time, or until `wanted` is set; it is clear afterwards."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wanted.wait()
    wanted.clear()
