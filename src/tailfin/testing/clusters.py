"""The cluster of a test: its event loop runs in a thread of its own, so that plain tests can use it."""

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tailfin.broker.app import Broker
from tailfin.cluster import Node
from tailfin.testing.clock import FakeClock
from tailfin.testing.faults import Faults

T = TypeVar("T")

ENDS_WITHIN_S = 30.0


class Cluster:
    """A running cluster, as a test sees it.

    Attributes:
        clock: the brokers' time, which a test can set forward.
        faults: switches for what goes wrong.
    """

    def __init__(self, node: Node, clock: FakeClock, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop
        self.clock = clock
        self.faults = Faults(node, self.run)

    @property
    def namesrv(self) -> str:
        """Address of the name server: all a client needs."""
        return self._node.namesrv

    @property
    def brokers(self) -> list[Broker]:
        """The brokers; what they do happens on the cluster's own thread: see `run`."""
        return self._node.brokers

    @property
    def broker(self) -> Broker:
        """The first broker."""
        return self._node.broker

    def waiting(self) -> int:
        """Return how many messages wait for their time: delayed, timed, or to be tried again.

        A handler that fails has its message wait a moment later, so a test waits for that before it sets the
        clock forward.

        Example:
            >>> until(lambda: running.waiting() == 1)
            >>> running.clock.advance(10)
        """
        return self.run(self._waiting())

    async def _waiting(self) -> int:
        alive = [broker for broker in self.brokers if not broker.is_stopped]
        levels = sum(end - head for each in alive for head, end in each.schedule.progress().values())
        timed = [each.timers.figures() for each in alive]
        return levels + sum(figures["OffsetBehind"] + figures["CongestNum"] for figures in timed)

    def open_transactions(self) -> int:
        """Return how many transactions are neither committed nor rolled back."""
        return self.run(self._open_transactions())

    async def _open_transactions(self) -> int:
        alive = [broker for broker in self.brokers if not broker.is_stopped]
        return sum(sum(each.transactions.counts.counts().values()) for each in alive)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the cluster's thread and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ENDS_WITHIN_S)


@contextlib.contextmanager
def cluster(*, brokers: int = 1, data: Path | None = None, **settings: object) -> Iterator[Cluster]:
    """Start a name server and brokers; stop them at the end of the block.

    Args:
        brokers: how many.
        data: where to keep their data; without it everything is gone at the end.
        **settings: settings of `broker.conf` for every broker, by RocketMQ's key.
    """
    with contextlib.ExitStack() as stack:
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tailfin-test-")))
        loop = stack.enter_context(_loop_in_a_thread())
        clock = FakeClock(loop)
        node = Node(data, brokers=brokers, small_files=True, settings=settings, clock=clock)
        running = Cluster(node, clock, loop)
        running.run(node.start())
        try:
            yield running
        finally:
            running.run(running.faults.forget())
            running.run(node.stop())


@contextlib.contextmanager
def _loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tailfin-cluster", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(ENDS_WITHIN_S)
        loop.close()
