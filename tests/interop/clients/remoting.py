"""The wire protocol as far as the tests need it: it shares nothing with Tailfin."""

import itertools
import json
import socket
from typing import Any, NamedTuple

CLUSTER_INFO = 106
_opaques = itertools.count(1)


class Frame(NamedTuple):
    """A decoded frame."""

    header: dict[str, Any]
    body: bytes


def encode(code: int, fields: dict[str, Any] | None = None, body: bytes = b"") -> bytes:
    """Encode a request with a JSON header."""
    header = {
        "code": code,
        "language": "PYTHON",
        "version": 513,
        "opaque": next(_opaques),
        "flag": 0,
        "extFields": {key: str(value) for key, value in (fields or {}).items()},
    }
    return frame(json.dumps(header).encode(), body)


def frame(header: bytes, body: bytes) -> bytes:
    """Put a JSON header and a body into a frame."""
    return (4 + len(header) + len(body)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header + body


def ask(address: str, code: int, fields: dict[str, Any] | None = None, body: bytes = b"") -> Frame:
    """Send one request on a connection of its own and wait for the answer."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(encode(code, fields, body))
        return receive(connection)


def receive(connection: socket.socket) -> Frame:
    """Read one frame with a JSON header."""
    frame = _exactly(connection, int.from_bytes(_exactly(connection, 4), "big"))
    end = 4 + (int.from_bytes(frame[:4], "big") & 0xFFFFFF)
    return Frame(json.loads(frame[4:end]), frame[end:])


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            raise ConnectionError("closed by the other side")
        parts += part
    return bytes(parts)
