import random
import resource
import socket

import pytest

from tailfin._engine import Request, Server
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.remoting.raw import Client, echo, serving, until

BOTH = pytest.mark.parametrize("kind", [frame.JSON, frame.BINARY], ids=["json", "binary"])


@BOTH
@pytest.mark.shows("RM-12", "RM-14", "RM-22")
def test_an_answer_comes_in_the_encoding_of_its_request(kind: int) -> None:
    with serving() as served, Client(served.port) as client:
        client.send(Frame(code=105, opaque=7, fields={"topic": "T"}, body=b"\1\2"), kind=kind)
        assert client.socket.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL)[4] == kind
        reply = client.receive()
        assert (reply.code, reply.opaque, reply.flag) == (0, 7, 1)
        assert reply.fields == {"topic": "T"}
        assert reply.body == b"\1\2"


@BOTH
def test_a_request_reaches_python_as_it_was_sent(kind: int) -> None:
    fields = {"i": "k\x01v\x02", "name": "Grüße \U0001f600", "quote": 'a"b\\c', "n": "-1"}
    with serving() as served, Client(served.port) as client:
        sent = Frame(
            code=310, opaque=-5, version=401, language="GO", remark="why", fields=fields, body=b"x" * 99
        )
        reply = client.ask(sent, kind)
        (request,) = served.requests
        assert (request.code, request.opaque, request.version, request.language) == (310, -5, 401, "GO")
        assert (request.remark, request.flag, request.oneway) == ("why", 0, False)
        assert request.fields == fields == reply.fields
        assert request.body == b"x" * 99
        host, port = client.socket.getsockname()
        assert request.peer == f"{host}:{port}"
        assert request.local == f"127.0.0.1:{served.port}"


@pytest.mark.shows("RM-11")
def test_pipelined_requests_are_all_answered() -> None:
    with serving() as served, Client(served.port) as client:
        client.send(*(Frame(code=105, opaque=n, body=b"b" * n) for n in range(500)))
        replies = {reply.opaque: reply.body for reply in (client.receive() for _ in range(500))}
        assert replies == {n: b"b" * n for n in range(500)}


def test_frames_cut_anywhere_are_put_together() -> None:
    seeded = random.Random(4)
    sizes = [0, 1, 100, 16 << 10, 20_000, 300_000, 5, 70_000]
    stream = b"".join(
        frame.encode(Frame(code=1, opaque=n, body=seeded.randbytes(size)), n % 2)
        for n, size in enumerate(sizes)
    )
    with serving() as served, Client(served.port) as client:
        at = 0
        while at < len(stream):
            step = seeded.choice([1, 3, 7, 1000, 30_000])
            client.socket.sendall(stream[at : at + step])
            at += step
        assert [len(client.receive().body) for _ in sizes] == sizes


def test_a_frame_of_the_greatest_length_passes_both_ways() -> None:
    longest = Frame(code=1, body=bytes(frame.FRAME_BYTES_MAX - 400))
    with serving() as served, Client(served.port) as client:
        assert len(client.ask(longest).body) == len(longest.body)


def test_answers_may_come_in_another_order() -> None:
    held: list[Request] = []

    def backwards(server: Server, request: Request) -> None:
        held.append(request)
        if len(held) == 10:
            for each in reversed(held):
                echo(server, each)

    with serving(backwards) as served, Client(served.port) as client:
        client.send(*(Frame(code=1, opaque=n) for n in range(10)))
        assert [client.receive().opaque for _ in range(10)] == list(reversed(range(10)))


@pytest.mark.shows("RM-24")
def test_a_oneway_request_gets_no_answer() -> None:
    with serving() as served, Client(served.port) as client:
        client.send(Frame(code=1, opaque=1, flag=2), Frame(code=1, opaque=2))
        assert client.receive().opaque == 2
        assert [request.oneway for request in served.requests] == [True, False]


def test_a_second_answer_is_not_sent() -> None:
    def twice(server: Server, request: Request) -> None:
        echo(server, request)
        echo(server, request)

    with serving(twice) as served, Client(served.port) as client:
        client.send(Frame(code=1, opaque=1))
        client.send(Frame(code=1, opaque=2))
        assert [client.receive().opaque, client.receive().opaque] == [1, 2]


def test_an_answer_no_client_would_take_is_an_error_here() -> None:
    refused: list[str] = []

    def too_much(server: Server, request: Request) -> None:
        try:
            server.answer(request, 0, body=bytes(16 << 20))
        except ValueError as error:
            refused.append(str(error))
        server.answer(request, 1, remark="too much")

    with serving(too_much) as served, Client(served.port) as client:
        assert client.ask(Frame(code=1)).remark == "too much"
        assert "at most 16777216 bytes" in refused[0]


@pytest.mark.shows("RM-06")
def test_listening_on_port_0_reports_the_port_and_another_may_follow() -> None:
    with serving() as served:
        other = served.server.listen("127.0.0.1", 0)
        assert 0 < other != served.port
        with Client(served.port) as one, Client(other) as two:
            assert one.ask(Frame(code=1, opaque=1)).opaque == 1
            assert two.ask(Frame(code=1, opaque=2)).opaque == 2
            assert served.requests[1].local == f"127.0.0.1:{other}"


def test_a_port_in_use_is_an_os_error() -> None:
    with serving() as served, pytest.raises(OSError, match="listen on"):
        served.server.listen("127.0.0.1", served.port)


@pytest.mark.shows("RM-17")
def test_a_thousand_connections_are_served_at_once() -> None:
    count = 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with serving() as served:
        clients = [Client(served.port) for _ in range(count)]
        try:
            for n, client in enumerate(clients):
                client.send(Frame(code=34, opaque=n))
            assert [client.receive().opaque for client in clients] == list(range(count))
            assert served.server.connections() == count
        finally:
            for client in clients:
                client.close()
        until(lambda: served.server.connections() == 0)
        until(lambda: served.kinds() == ["opened"] * count + ["closed"] * count)
