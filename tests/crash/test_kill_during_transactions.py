"""Transactions while their broker is killed again and again: exactly what was committed is consumed, once."""

import asyncio
import contextlib
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tailfin.broker.address import free_port
from tests.crash.transactions import Book, Maker, consumed, open_halves, settings

HALVES = int(os.environ.get("TAILFIN_HALVES", "10000"))
KILLS = 20
MAKERS = 4
AT_ONCE = 12
"""Transactions that each producer works on at the same time."""
PATIENCE_S = 120


async def started(conf: Path) -> asyncio.subprocess.Process:
    """Start the broker and wait until it serves."""
    broker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tailfin",
        "broker",
        "-c",
        str(conf),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert broker.stdout is not None
    said = b""
    while b"boot success" not in (line := await broker.stdout.readline()):
        said += line
        assert line, f"the broker ended at once:\n{said.decode()}"
    # What it logs from now on is read, so that it never waits for a reader.
    asyncio.get_running_loop().create_task(broker.stdout.read())
    return broker


@contextlib.asynccontextmanager
async def working(address: str, book: Book, number: int) -> AsyncIterator[Maker]:
    """Run a producer until the block ends, when it is gone without a word."""
    maker = Maker(address, client_id=f"maker-{number}", book=book)
    tasks = [asyncio.create_task(maker.keep_beating())]
    tasks += [asyncio.create_task(_work(maker, book)) for _ in range(AT_ONCE)]
    try:
        yield maker
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await maker.client.stop()


async def _work(maker: Maker, book: Book) -> None:
    while book.stored < HALVES:
        if not await maker.one():
            await asyncio.sleep(0.05)


@pytest.mark.shows("TX-07", "TX-03")
def test_exactly_the_committed_are_consumed_each_once(tmp_path: Path) -> None:
    asyncio.run(_transactions_under_fire(tmp_path))


async def _transactions_under_fire(tmp_path: Path) -> None:
    chance = random.Random(5)
    port = free_port("127.0.0.1")
    conf = tmp_path / "broker.conf"
    conf.write_text(settings(tmp_path / "store", port))
    book = Book(chance)
    broker = await started(conf)
    try:
        async with asyncio.timeout(PATIENCE_S), contextlib.AsyncExitStack() as others:
            for number in range(MAKERS - 1):
                await others.enter_async_context(working(f"127.0.0.1:{port}", book, number))
            for kill in range(KILLS):
                # One producer dies with each round; what it left is answered by the others.
                async with working(f"127.0.0.1:{port}", book, MAKERS + kill):
                    goal = HALVES * (kill + chance.random()) / KILLS
                    while book.stored < goal:
                        await asyncio.sleep(0.01)
                    broker.kill()
                    await broker.wait()
                    broker = await started(conf)
            reader = Maker(f"127.0.0.1:{port}", client_id="reader", book=book)
            while book.stored < HALVES or await open_halves(reader):
                await asyncio.sleep(0.1)
            found = await consumed(reader)
            await reader.client.stop()
    finally:
        broker.kill()
        await broker.wait()
    assert book.asked > 0
    assert found == Counter(book.committed())
