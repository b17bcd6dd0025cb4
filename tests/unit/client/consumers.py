"""Consumers for tests: short intervals, and somebody who sends."""

import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from tailfin import Message
from tailfin._engine import ReceivedMessage
from tailfin.aio import AdminClient, Producer
from tailfin.client.queues import Queue
from tailfin.testing import Cluster

QUICK: dict[str, Any] = {
    "pull_hold": 1.0,
    "pull_timeout": 5.0,
    "trouble_pause": 0.1,
    "retry_pause": 0.1,
    "commit_interval": 0.2,
    "rebalance_interval": 1.0,
    "lock_interval": 0.5,
    "route_interval": 0.5,
    "suspend": 0.02,
}

Given = ReceivedMessage | list[ReceivedMessage]

_numbers = itertools.count(1)


def quick(running: Cluster, **options: object) -> dict[str, Any]:
    """Return options of a push consumer that looks often."""
    return {"nameserver": running.namesrv, **QUICK, **options}


def quick_pull(running: Cluster, **options: object) -> dict[str, Any]:
    """Return options of a lite pull consumer that looks often."""
    found = quick(running, **options)
    del found["suspend"]
    return found


def fresh(kind: str) -> str:
    """Return a name that no other test uses."""
    return f"{kind}-{next(_numbers)}"


@contextlib.asynccontextmanager
async def sender(running: Cluster) -> AsyncIterator[Producer]:
    async with Producer("senders", nameserver=running.namesrv) as producer:
        yield producer


async def send(
    producer: Producer,
    topic: str,
    bodies: Iterable[bytes],
    *,
    tags: str | None = None,
    queue: Queue | None = None,
) -> None:
    for body in bodies:
        await producer.send(Message(topic, body, tags=tags), queue=queue)


async def made(running: Cluster, topic: str, queues: int = 2) -> list[Queue]:
    """Create a topic on both brokers, and return its queues."""
    async with AdminClient(nameserver=running.namesrv) as admin:
        brokers = await admin.topics.create(topic, queues=queues)
    return sorted(Queue(topic, broker, number) for broker in brokers for number in range(queues))


class Heard:
    """A handler that notes what it gets; `act` may raise, or return an outcome."""

    def __init__(self, act: Callable[[Any], object] = lambda given: None) -> None:
        self._act = act
        self._lock = threading.Lock()
        self.messages: list[ReceivedMessage] = []

    def __call__(self, given: Given) -> object:
        with self._lock:
            self.messages += given if isinstance(given, list) else [given]
        return self._act(given)

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]

    def awaited(self) -> Callable[[Given], Awaitable[object]]:
        async def handle(given: Given) -> object:
            return self(given)

        return handle


def bodies(count: int, begin: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(begin, begin + count)]
