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

T = TypeVar("T")

ENDS_WITHIN_S = 30.0


class Cluster:
    """A running cluster, as a test sees it."""

    def __init__(self, node: Node, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop

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
        node = Node(data, brokers=brokers, small_files=True, settings=settings)
        running = Cluster(node, loop)
        running.run(node.start())
        try:
            yield running
        finally:
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
