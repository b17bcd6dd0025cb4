import select
import socket
import threading
import time

import pytest

from tailfin._engine import Request, Server
from tailfin.config import ServerConfig
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.remoting.raw import Client, echo, serving, until


def sent_until_stuck(client: Client, data: bytes) -> int:
    """Send again and again, until the other side takes no more; return how many bytes went."""
    client.socket.setblocking(False)
    sent = at = 0
    while select.select([], [client.socket], [], 0.5)[1]:
        count = client.socket.send(data[at:])
        sent, at = sent + count, (at + count) % len(data)
    client.socket.settimeout(10)
    return sent


def finish(client: Client, data: bytes, sent: int) -> int:
    """Send the rest of the last frame; return how many frames went."""
    rest = -sent % len(data)
    client.socket.sendall(data[len(data) - rest :])
    return (sent + rest) // len(data)


def test_a_client_that_does_not_read_is_not_read_and_loses_nothing() -> None:
    small = {"serverSocketSndBufSize": 65536, "serverSocketRcvBufSize": 65536}
    with serving(**small) as served, Client(served.port) as greedy, Client(served.port) as other:
        data = frame.encode(Frame(code=1, body=bytes(100_000)))
        sent = sent_until_stuck(greedy, data)
        assert sent < 40 << 20
        assert served.server.stats()["readsPaused"] >= 1
        assert other.ask(Frame(code=1, opaque=3)).opaque == 3
        finisher = threading.Thread(target=finish, args=(greedy, data, sent))
        finisher.start()
        frames = -(-sent // len(data))
        assert all(len(greedy.receive().body) == 100_000 for _ in range(frames))
        finisher.join()
        assert greedy.ask(Frame(code=1, opaque=4)).opaque == 4


@pytest.mark.shows("RM-30", "RP-08")
def test_a_flood_of_one_kind_waits_while_another_is_served_and_none_is_lost() -> None:
    server = Server(
        ServerConfig.of(
            {"queryThreadPoolQueueCapacity": 10, "serverSocketRcvBufSize": 65536}
        ).engine_options()
    )
    port = server.listen("127.0.0.1", 0)
    try:
        with Client(port) as flood, Client(port) as calm:
            data = frame.encode(Frame(code=12, body=bytes(10_000)))
            sent = sent_until_stuck(flood, data)
            assert sent < 20 << 20
            calm.send(Frame(code=34, opaque=7))
            # However many queries wait, the heartbeat is among the first.
            first = taken(server, 16, lambda request: request.code == 34)
            for request in first:
                echo(server, request)
            assert calm.receive().opaque == 7
            counter = threading.Thread(target=finish, args=(flood, data, sent))
            counter.start()
            frames = -(-sent // len(data))
            queries = [request for request in first if request.code == 12]
            while len(queries) < frames:
                more = taken(server, 256, lambda _: True)
                for request in more:
                    server.answer(request, 0)
                queries += more
            counter.join()
            assert len(queries) == frames
    finally:
        server.stop(0)


def taken(server: Server, limit: int, wanted: object) -> list[Request]:
    """Take once it holds what is wanted."""
    assert callable(wanted)
    end = time.monotonic() + 10
    found: list[Request] = []
    while not any(wanted(request) for request in found):
        assert time.monotonic() < end
        select.select([server.fileno()], [], [], 0.1)
        found += [item for item in server.take(limit) if isinstance(item, Request)]
    return found


def test_the_descriptor_is_readable_while_something_waits() -> None:
    server = Server(ServerConfig().engine_options())
    port = server.listen("127.0.0.1", 0)
    try:
        with Client(port) as client:
            assert not select.select([server.fileno()], [], [], 0)[0]
            client.send(Frame(code=1), Frame(code=1))
            got = 0
            while got < 3:
                assert select.select([server.fileno()], [], [], 10)[0]
                got += len(server.take(1))
            assert not select.select([server.fileno()], [], [], 0)[0]
            assert server.take() == []
    finally:
        server.stop(0)


def test_stop_answers_what_is_under_way_and_takes_nothing_new() -> None:
    held: list[Request] = []
    with serving(lambda _, request: held.append(request)) as served, Client(served.port) as client:
        client.send(Frame(code=1, opaque=1, body=b"before"))
        until(lambda: bool(held))
        stopping = threading.Thread(target=served.server.stop, args=(10.0,))
        stopping.start()
        until(lambda: refuses(served.port))
        client.send(Frame(code=1, opaque=2))
        assert stopping.is_alive()
        served.server.answer(held[0], 0, body=bytes(1 << 20))
        assert len(client.receive().body) == 1 << 20
        stopping.join(10)
        assert client.is_closed_by_server()
        assert [request.opaque for request in held] == [1]
        until(lambda: "closed" in served.kinds())


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False


def test_stop_does_not_wait_longer_than_told() -> None:
    held: list[Request] = []
    with serving(lambda _, request: held.append(request)) as served, Client(served.port) as client:
        client.send(Frame(code=1))
        until(lambda: bool(held))
        served.server.stop(0.05)
        assert client.is_closed_by_server()
        served.server.answer(held[0], 0)
        served.server.stop()
        with pytest.raises(ValueError, match="stopped"):
            served.server.listen("127.0.0.1", 0)


def test_a_request_nobody_keeps_is_not_waited_for() -> None:
    with serving(lambda *_: None) as served, Client(served.port) as client:
        client.send(Frame(code=1))
        until(lambda: bool(served.requests))
        served.requests.clear()
        served.server.stop(3600)
