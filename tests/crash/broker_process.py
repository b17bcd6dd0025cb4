"""A broker in a process of its own, to be killed, with someone to talk to it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tests.unit.broker.talking import Talker


@contextlib.asynccontextmanager
async def running(
    data: Path, ports: tuple[int, int], settings: Mapping[str, object]
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Talker]]:
    """Start name server and broker at these ports; at the end they are stopped, if they still run."""
    where = ["--data", str(data), "--port", str(ports[0]), "--broker-port", str(ports[1])]
    for key, value in settings.items():
        where += ["--set", f"{key}={value}"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tailfin", "start", *where, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert b"Tailfin is running" in await process.stdout.readline()
    talker = Talker(f"127.0.0.1:{ports[1]}")
    try:
        yield process, talker
    finally:
        await talker.client.stop()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
