"""A wire between clients and a server that can go silent without breaking."""

import contextlib
import socket
import threading
from collections.abc import Iterator

Address = tuple[str, int]


class Wire:
    """Passes bytes on between clients and a server."""

    def __init__(self, listener: socket.socket, target: Address) -> None:
        self._listener, self._target = listener, target
        self._frozen = threading.Event()
        self._sockets: list[socket.socket] = []

    def freeze(self) -> None:
        """Let all connections of now stay open and carry nothing any more; new ones work."""
        frozen, self._frozen = self._frozen, threading.Event()
        frozen.set()

    def serve(self) -> None:
        """Connect clients until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=(*pair, self._frozen), daemon=True).start()

    def close(self) -> None:
        """Break every connection."""
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _copy(source: socket.socket, sink: socket.socket, frozen: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            if frozen.is_set():
                return
            sink.sendall(data)
        if not frozen.is_set():
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def wire(listen: Address, target: Address) -> Iterator[Wire]:
    """Lay a wire until the block ends."""
    with socket.create_server(listen) as listener:
        laid = Wire(listener, target)
        thread = threading.Thread(target=laid.serve)
        thread.start()
        try:
            yield laid
        finally:
            laid.close()
            thread.join()
