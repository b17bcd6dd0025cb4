"""Bytes that lie end their own connection and nothing else."""

import json
import random
import struct
from collections.abc import Iterator

import pytest

from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.remoting.raw import Client, Served, serving, until


def framed(
    kind: int, header: bytes, body: bytes = b"", *, length: int | None = None, said: int | None = None
) -> bytes:
    length = 4 + len(header) + len(body) if length is None else length
    return struct.pack(">iI", length, kind << 24 | (len(header) if said is None else said)) + header + body


def binary(
    remark: bytes = b"", fields: bytes = b"", *, remark_len: int | None = None, fields_len: int | None = None
) -> bytes:
    return (
        struct.pack(">hBhii", 105, 0, 479, 1, 0)
        + struct.pack(">i", len(remark) if remark_len is None else remark_len)
        + remark
        + struct.pack(">i", len(fields) if fields_len is None else fields_len)
        + fields
    )


DEEP = b'{"code":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
MANY = json.dumps({"code": 1, "extFields": {str(n): "v" for n in range(5000)}}).encode()

LIES = {
    "negative length": struct.pack(">i", -1),
    "length beyond the limit": struct.pack(">i", 16 << 20),
    "length too short for a header": struct.pack(">i", 3),
    "header longer than its frame": framed(0, b"{}", said=3),
    "header of 16 MiB in a small frame": framed(0, b"{}", said=0xFFFFFF),
    "unknown encoding": framed(2, b"{}"),
    "empty header": framed(0, b""),
    "not JSON": framed(0, b"GET / HTTP/1.1"),
    "JSON that ends early": framed(0, b'{"code":1,"extFields":{"a":"b'),
    "JSON with something behind it": framed(0, b'{"code":1}x'),
    "JSON array": framed(0, b"[1]"),
    "code is text": framed(0, b'{"code":"one"}'),
    "code beyond 32 bits": framed(0, b'{"code":4294967296}'),
    "extFields is a number": framed(0, b'{"extFields":1}'),
    "half an escape": framed(0, b'{"remark":"\\u12"}'),
    "invalid UTF-8": framed(0, b'{"remark":"\xff"}'),
    "deep JSON": framed(0, DEEP),
    "deep JSON in a field": framed(0, b'{"extFields":{"a":' + DEEP + b"}}"),
    "too many fields": framed(0, MANY),
    "binary header cut off": framed(1, binary()[:10]),
    "negative remark length": framed(1, binary(remark_len=-1)),
    "remark beyond the header": framed(1, binary(b"r", remark_len=1 << 30)),
    "negative fields length": framed(1, binary(fields_len=-4)),
    "fields beyond the header": framed(1, binary(fields=b"\0\1a", fields_len=100)),
    "negative key length": framed(1, binary(fields=b"\xff\xff")),
    "key beyond the fields": framed(1, binary(fields=b"\x7f\xffab")),
    "value beyond the fields": framed(1, binary(fields=b"\0\1a\x7f\xff\xff\xff")),
    "negative value length": framed(1, binary(fields=b"\0\1a\x80\0\0\0")),
    "binary key not UTF-8": framed(1, binary(fields=b"\0\1\xff\0\0\0\1v")),
    "broken TLS hello": b"\x16\x03\x01\xff\xff" + bytes(100),
    "broken PROXY line": b"PROXY TCP4 here there\r\n",
    "endless PROXY line": b"PROXY " + b"x" * 200,
    "PROXY twice": b"PROXY UNKNOWN\r\n" * 2,
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
@pytest.mark.shows("RM-15")
def test_a_lie_closes_its_connection_only(served: Served, lie: bytes) -> None:
    refused = served.server.stats()["framesRefused"]
    with Client(served.port) as honest, Client(served.port) as liar:
        assert honest.ask(Frame(code=1, opaque=1)).opaque == 1
        liar.socket.sendall(lie)
        assert liar.is_closed_by_server()
        assert honest.ask(Frame(code=1, opaque=2)).opaque == 2
    assert served.server.stats()["framesRefused"] == refused + 1


def test_what_came_before_the_lie_is_answered(served: Served) -> None:
    with Client(served.port) as client:
        good = frame.encode(Frame(code=1, opaque=1, flag=2))
        before = len(served.requests)
        client.socket.sendall(good * 3 + b"\xff\xff\xff\xff")
        assert client.is_closed_by_server()
        until(lambda: len(served.requests) == before + 3)
        until(lambda: any(event.remark == "the frame's length is negative" for event in served.events))


def test_tolerated_headers_are_read(served: Served) -> None:
    header = b"""{ "version":"401", "unknown":{"a":[1,{"b":null}]}, "opaque":5, "language":"KLINGON",
        "extFields":{"n":1, "t":true, "z":null, "o":{"a":1}, "s":"\\u00e9\\ud83d\\ude00\\/"},
        "code":105, "remark":null}"""
    with Client(served.port) as client:
        client.socket.sendall(framed(0, header))
        assert client.receive().opaque == 5
    request = served.requests[-1]
    assert (request.code, request.version, request.language, request.remark) == (105, 401, "OTHER", None)
    assert request.fields == {"n": "1", "t": "true", "o": '{"a":1}', "s": "é\U0001f600/"}


def test_mutated_frames_harm_nobody(served: Served) -> None:
    seeded = random.Random(11)
    seeds = [
        frame.encode(Frame(code=310, opaque=1, fields={"b": "T", "i": "k\1v\2"}, body=b"hello"), kind)
        for kind in (frame.JSON, frame.BINARY)
    ]
    with Client(served.port) as honest:
        for round in range(300):
            mutated = bytearray(seeded.choice(seeds) * 3)
            for _ in range(seeded.randint(1, 8)):
                mutated[seeded.randrange(len(mutated))] = seeded.randrange(256)
            with Client(served.port) as hostile:
                hostile.socket.sendall(mutated)
            if round % 20 == 0:
                assert honest.ask(Frame(code=1, opaque=round)).opaque == round
        assert honest.ask(Frame(code=1, opaque=-1)).opaque == -1
    assert served.server.stats()["panics"] == 0
