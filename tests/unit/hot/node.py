"""A server with a hot path on a small store, and a client that speaks raw frames to it."""

import itertools
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tailfin._engine import Event, HotPath, Request, Server
from tailfin.config import BrokerConfig, ServerConfig, StoreConfig
from tailfin.config.hot import hot_options
from tailfin.store import Store
from tailfin.wire import frame
from tailfin.wire.frame import Frame

DEADLINE = 15.0
TOPIC = "Orders"
GROUP = "readers"
QUEUES = 4
SMALL = StoreConfig(
    mappedFileSizeCommitLog=1 << 20, mappedFileSizeConsumeQueue=20 * 100, maxHashSlotNum=100, maxIndexNum=2000
)

SEND, PULL, QUERY_OFFSET, UPDATE_OFFSET, MAX_OFFSET, MIN_OFFSET = 10, 11, 14, 15, 30, 31
SEND_V2, SEND_BATCH, LITE_PULL = 310, 320, 361

COMMIT, SUSPEND, OWN_FILTER = 1, 2, 4
"""Bits of a pull's sysFlag."""


class Client:
    """One connection; replies are asked for by the number of their request."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        self.address = "{}:{}".format(*self.socket.getsockname()[:2])
        self._file = self.socket.makefile("rb")
        self._replies: dict[int, Frame] = {}
        self._opaque = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def post(
        self,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        flag: int = 0,
        kind: int = frame.JSON,
    ) -> int:
        """Send a request and return its number."""
        opaque = next(self._opaque)
        texts = {key: str(value) for key, value in (fields or {}).items()}
        request = Frame(code=code, opaque=opaque, flag=flag, fields=texts, body=body)
        self.socket.sendall(frame.encode(request, kind))
        return opaque

    def reply(self, opaque: int) -> Frame:
        """Wait for the reply to a request."""
        while opaque not in self._replies:
            prefix = self._file.read(4)
            assert len(prefix) == 4, "closed by the server"
            reply = frame.decode(self._file.read(frame.body_length(prefix)))
            self._replies[reply.opaque] = reply
        return self._replies.pop(opaque)

    def ask(
        self,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        kind: int = frame.JSON,
    ) -> Frame:
        return self.reply(self.post(code, fields, body, kind=kind))

    def send(self, body: bytes = b"hello", **changes: object) -> Frame:
        return self.ask(SEND_V2, send_fields(**changes), body)

    def pull(self, **changes: object) -> Frame:
        return self.ask(PULL, pull_fields(**changes))


class Node:
    """Store, hot path and server; what is left to Python stays in `requests`."""

    def __init__(self, folder: Path, store: Mapping[str, object], broker: Mapping[str, object]) -> None:
        self.store = Store(folder, SMALL, **store)
        self.config = BrokerConfig.of({"brokerIP1": "127.0.0.1", **broker})
        self.hot = HotPath(self.store, hot_options(self.config))
        server = ServerConfig.of({"serverSelectorThreads": 2})
        self.server = Server(server.engine_options(), self.hot)
        self.port = self.server.listen("127.0.0.1", 0)
        self.tell_topic()
        self.tell_group()
        self.subscribe()

    def tell_topic(self, name: str = TOPIC, **changes: object) -> None:
        rule = {"read_queues": QUEUES, "write_queues": QUEUES, "perm": 6, **changes}
        self.hot.put_topic(name, **rule)  # type: ignore[arg-type]

    def tell_group(self, name: str = GROUP, **changes: object) -> None:
        rule = {
            "consume_enable": True,
            "broadcast_enable": True,
            "broker_id": 0,
            "broker_id_when_slow": 1,
            **changes,
        }
        self.hot.put_group(name, **rule)  # type: ignore[arg-type]

    def subscribe(self, group: str = GROUP, topic: str = TOPIC, **changes: object) -> None:
        rule = {"version": 1, "tag_codes": (), "broadcast": False, **changes}
        self.hot.put_subscription(group, topic, **rule)  # type: ignore[arg-type]

    def client(self) -> Client:
        return Client(self.port)

    def next_request(self) -> Request:
        """Wait for the next request that is left to Python."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            select.select([self.server.fileno()], [], [], 0.1)
            for item in self.server.take(1):
                if not isinstance(item, Event):
                    return item
        raise AssertionError("nothing was left to Python")

    def fill(self, count: int, *, queue_id: int = 0, tags: str | None = None) -> None:
        """Store messages, and wait until they can be read."""
        for number in range(count):
            self.store.append(TOPIC, b"%d" % number, queue_id, tags=tags)
        assert self.store.max_offset(TOPIC, queue_id) >= count

    def close(self) -> None:
        self.server.stop(0)
        self.store.close()


@contextmanager
def running(folder: Path, *, store: Mapping[str, object] | None = None, **broker: object) -> Iterator[Node]:
    node = Node(folder, store or {}, broker)
    try:
        yield node
    finally:
        node.close()


def send_fields(**changes: object) -> dict[str, object]:
    """Fields of a V2 send; a change to None leaves the field out."""
    fields = {"a": "PG", "b": TOPIC, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1234, "h": 0, **changes}
    return {key: value for key, value in fields.items() if value is not None}


def pull_fields(**changes: object) -> dict[str, object]:
    """Fields of a pull; a change to None leaves the field out."""
    fields = {
        "consumerGroup": GROUP,
        "topic": TOPIC,
        "queueId": 0,
        "queueOffset": 0,
        "maxMsgNums": 32,
        "sysFlag": 0,
        "commitOffset": 0,
        "suspendTimeoutMillis": 15_000,
        "subVersion": 1,
        "expressionType": "TAG",
        **changes,
    }
    return {key: value for key, value in fields.items() if value is not None}


def properties(**pairs: str) -> str:
    return "".join(f"{name}\1{value}\2" for name, value in pairs.items())


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.005)
