import ipaddress
import os
import socket
import struct
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tailfin._engine import Request, Server
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.remoting.raw import Client, echo, serving, until


@pytest.mark.shows("RM-17")
def test_python_hears_of_the_beginning_before_and_of_the_end_after_the_requests() -> None:
    with serving() as served:
        with Client(served.port) as client:
            client.ask(Frame(code=34))
        until(lambda: served.kinds() == ["opened", "closed"])
        opened, closed = served.events
        assert opened.connection == closed.connection == served.requests[0].connection
        assert opened.peer == served.requests[0].peer
        assert closed.remark is None


def test_data_and_end_in_one_piece_are_both_seen() -> None:
    with serving() as served:
        for _ in range(50):
            with Client(served.port) as client:
                client.send(Frame(code=34, flag=2))
        until(lambda: served.kinds().count("closed") == 50)
        assert len(served.requests) == 50


@pytest.mark.shows("RM-16")
def test_a_silent_connection_is_closed_and_a_busy_one_is_not() -> None:
    with serving(serverChannelMaxIdleTimeSeconds=1) as served:
        with Client(served.port) as silent, Client(served.port) as busy:
            silent.send(Frame(code=1))
            silent.receive()
            closed = threading.Event()

            def watch() -> None:
                if silent.is_closed_by_server():
                    closed.set()

            watcher = threading.Thread(target=watch)
            watcher.start()
            while not closed.wait(0.1):
                busy.ask(Frame(code=1))
            watcher.join()
            assert busy.ask(Frame(code=1, opaque=3)).opaque == 3
        assert served.server.stats()["connectionsIdleClosed"] == 1


@pytest.mark.shows("RM-18")
def test_a_call_to_the_client_is_matched_with_its_answer() -> None:
    with serving() as served, Client(served.port) as client:
        client.ask(Frame(code=34))
        connection = served.requests[0].connection
        opaque = served.server.call(connection, 220, fields={"group": "G"}, body=b"ask")
        call = client.receive()
        assert (call.code, call.opaque, call.flag, call.fields, call.body) == (
            220,
            opaque,
            0,
            {"group": "G"},
            b"ask",
        )
        # A request of the client's with the same opaque is another matter.
        assert client.ask(Frame(code=1, opaque=call.opaque)).is_response
        client.send(Frame(code=0, opaque=12345, flag=1))
        client.send(Frame(code=5, opaque=call.opaque, flag=1, remark="r", fields={"a": "b"}, body=b"told"))
        until(lambda: "answered" in served.kinds())
        answered = served.events[-1]
        assert (answered.connection, answered.opaque, answered.code) == (connection, opaque, 5)
        assert (answered.remark, answered.fields, answered.body) == ("r", {"a": "b"}, b"told")


def test_a_oneway_call_is_marked_and_awaits_nothing() -> None:
    with serving() as served:
        with Client(served.port) as client:
            client.ask(Frame(code=34))
            served.server.call(served.requests[0].connection, 40, oneway=True)
            assert client.receive().flag == 2
        until(lambda: served.kinds() == ["opened", "closed"])


def test_an_open_call_ends_with_its_connection() -> None:
    with serving() as served:
        with Client(served.port) as client:
            client.ask(Frame(code=34))
            connection = served.requests[0].connection
            opaque = served.server.call(connection, 220)
            client.receive()
        until(lambda: served.kinds() == ["opened", "answered", "closed"])
        assert (served.events[1].opaque, served.events[1].code) == (opaque, None)
        assert served.server.call(connection, 220) is None
        assert served.server.call(999, 220) is None


def test_disconnect_sends_what_was_answered_and_closes() -> None:
    def last_word(server: Server, request: Request) -> None:
        echo(server, request)
        server.disconnect(request.connection)

    with serving(last_word) as served, Client(served.port) as client:
        assert client.ask(Frame(code=1, opaque=9)).opaque == 9
        assert client.is_closed_by_server()


def test_an_answer_to_a_gone_client_is_no_error() -> None:
    held: list[Request] = []
    with serving(lambda _, request: held.append(request)) as served:
        with Client(served.port) as client:
            client.send(Frame(code=1))
            until(lambda: bool(held))
        until(lambda: "closed" in served.kinds())
        served.server.answer(held[0], 0)
        served.server.disconnect(held[0].connection)


def proxy_v2(source: tuple[str, int], target: tuple[str, int], family: int) -> bytes:
    packed = b"".join(ipaddress.ip_address(host).packed for host, _ in (source, target))
    block = packed + struct.pack(">HH", source[1], target[1]) + b"\x04\x00\x01\x00"
    return b"\r\n\r\n\0\r\nQUIT\n" + struct.pack(">BBH", 0x21, family, len(block)) + block


@pytest.mark.parametrize(
    ("header", "peer", "local"),
    [
        (b"PROXY TCP4 10.1.2.3 10.0.0.1 4711 10911\r\n", "10.1.2.3:4711", "10.0.0.1:10911"),
        (b"PROXY TCP6 fe80::1 fe80::2 4711 10911\r\n", "[fe80::1]:4711", "[fe80::2]:10911"),
        (proxy_v2(("10.1.2.3", 4711), ("10.0.0.1", 10911), 0x11), "10.1.2.3:4711", "10.0.0.1:10911"),
        (proxy_v2(("fe80::1", 4711), ("fe80::2", 10911), 0x21), "[fe80::1]:4711", "[fe80::2]:10911"),
    ],
    ids=["v1", "v1 IPv6", "v2", "v2 IPv6"],
)
@pytest.mark.parametrize("piecewise", [False, True])
def test_a_proxy_header_tells_the_real_client(header: bytes, peer: str, local: str, piecewise: bool) -> None:
    with serving() as served, Client(served.port) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = header + frame.encode(Frame(code=1, opaque=1))
        for piece in (data[n : n + 1] for n in range(len(data))) if piecewise else [data]:
            client.socket.sendall(piece)
        assert client.receive().opaque == 1
        assert (served.requests[0].peer, served.requests[0].local) == (peer, local)


@pytest.mark.parametrize("header", [b"PROXY UNKNOWN\r\n", b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00"])
def test_a_proxy_that_speaks_for_itself_keeps_its_address(header: bytes) -> None:
    with serving() as served, Client(served.port) as client:
        client.socket.sendall(header)
        client.ask(Frame(code=1))
        assert served.requests[0].peer == "{}:{}".format(*client.socket.getsockname())


def sockets_here(port: int) -> list[socket.socket]:
    """Duplicates of this process's own sockets whose near end is at a port."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if entry.readlink().name.startswith("socket:"):
                each = socket.socket(fileno=os.dup(int(entry.name)))
                if each.family == socket.AF_INET and each.getsockname()[1] == port:
                    found.append(each)
                else:
                    each.close()
    return found


@pytest.mark.shows("RM-03")
def test_sockets_have_rocketmqs_options() -> None:
    with (
        serving(serverSocketSndBufSize=70_000, serverSocketRcvBufSize=80_000) as served,
        Client(served.port) as client,
        ExitStack() as stack,
    ):
        client.ask(Frame(code=1))
        sockets = [stack.enter_context(each) for each in sockets_here(served.port)]
        listening = {each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN): each for each in sockets}
        listener, accepted = listening[1], listening[0]
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        # Of a listening socket this says how many clients may wait.
        information = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
        assert int.from_bytes(information[28:32], sys.byteorder) == 1024
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        # The kernel doubles what it is told, for its own books.
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 140_000
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 160_000


def test_a_call_that_is_forgotten_is_not_answered_by_the_end_of_its_connection() -> None:
    with serving() as served:
        with Client(served.port) as client:
            client.ask(Frame(code=1))
            connection = served.requests[0].connection
            calls = [served.server.call(connection, 40) for _ in range(3)]
            forgotten = calls.pop(1)
            assert forgotten is not None
            served.server.forget_call(connection, forgotten)
            served.server.forget_call(connection, forgotten)
            asked = [client.receive() for _ in range(3)]
            # An answer that comes all the same is nobody's.
            client.send(*(Frame(code=0, opaque=each.opaque, flag=1) for each in asked[1:2]))
        until(lambda: "closed" in served.kinds())
        answered = {event.opaque for event in served.events if event.kind == "answered"}
        assert answered == set(calls)
        served.server.forget_call(connection, forgotten)
