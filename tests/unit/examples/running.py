"""Running what the documentation shows, on a cluster whose time flies."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tailfin.testing import Cluster, cluster

ALLOWED: dict[str, object] = {
    "enablePropertyFilter": True,
    "recallMessageEnable": True,
    "traceTopicEnable": True,
}


@contextmanager
def time_flies(running: Cluster) -> Iterator[None]:
    """Let nothing wait for long: as soon as a message or a transaction does, a minute is over."""
    over = threading.Event()

    def push() -> None:
        while not over.wait(0.02):
            if running.waiting() or running.open_transactions():
                running.clock.advance(60)

    pusher = threading.Thread(target=push)
    pusher.start()
    try:
        yield
    finally:
        over.set()
        pusher.join()


@contextmanager
def fast_cluster() -> Iterator[Cluster]:
    """Start a cluster that allows what examples show."""
    with cluster(**ALLOWED) as running, time_flies(running):  # type: ignore[arg-type]
        yield running
