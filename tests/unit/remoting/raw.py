"""A server with a handler in a thread; a client made of a bare socket and the plain-Python frame codec."""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from tailfin._engine import Event, Request, Server
from tailfin.config import ServerConfig
from tailfin.wire import frame
from tailfin.wire.frame import Frame

DEADLINE = 15.0

Handler = Callable[[Server, Request], None]


def echo(server: Server, request: Request) -> None:
    """Give back what came."""
    server.answer(request, 0, fields=request.fields, body=request.body)


class Served:
    """A listening server whose requests are handled in a thread of its own."""

    def __init__(self, handler: Handler, settings: dict[str, object]) -> None:
        config = ServerConfig.of({"serverSelectorThreads": 2, **settings})
        self.server = Server(config.engine_options())
        self.port = self.server.listen("127.0.0.1", 0)
        self.events: list[Event] = []
        self.requests: list[Request] = []
        self.stopping = False
        self._handler = handler
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self.stopping:
            select.select([self.server.fileno()], [], [], 0.05)
            items = self.server.take()
            while items:
                self._handle(items.pop(0))

    def _handle(self, item: Request | Event) -> None:
        if isinstance(item, Event):
            self.events.append(item)
        else:
            self.requests.append(item)
            self._handler(self.server, item)

    def kinds(self) -> list[str]:
        return [event.kind for event in list(self.events)]

    def close(self) -> None:
        self.server.stop(0)
        self.stopping = True
        self._thread.join()


@contextmanager
def serving(handler: Handler = echo, /, **settings: object) -> Iterator[Served]:
    served = Served(handler, settings)
    try:
        yield served
    finally:
        served.close()


class Client:
    """One connection."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.socket: socket.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def send(self, *frames: Frame, kind: int = frame.JSON) -> None:
        self.socket.sendall(b"".join(frame.encode(each, kind) for each in frames))

    def receive(self) -> Frame:
        prefix = self._file.read(4)
        if len(prefix) < 4:
            raise ConnectionError("closed by the server")
        return frame.decode(self._file.read(frame.body_length(prefix)))

    def ask(self, request: Frame, kind: int = frame.JSON) -> Frame:
        self.send(request, kind=kind)
        return self.receive()

    def is_closed_by_server(self) -> bool:
        """Wait for the end of the connection, whatever comes before it (say a TLS alert)."""
        with suppress(ConnectionResetError):
            self._file.read()
        return True


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.005)
