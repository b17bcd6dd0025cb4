"""The engine's connections: servers that lie, vanish or want TLS and signatures."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tailfin._engine import Courier, OutgoingMessage, Receipt
from tailfin.remoting.signing import signature
from tailfin.testing import Cluster, cluster
from tailfin.wire import frame as frames
from tailfin.wire.codes import Flag, ResponseCode
from tailfin.wire.frame import Frame
from tests.unit.client.engines import COURIER, courier, ended, outbox
from tests.unit.identities import made_identity


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server of one thread that serves one connection after another."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(20.0)

    def run() -> None:
        with listening:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer:
                    peer.settimeout(20.0)
                    serve(peer)

    thread = threading.Thread(target=run)
    thread.start()
    address = listening.getsockname()
    try:
        yield f"{address[0]}:{address[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(20.0)
        assert not thread.is_alive()


def request(peer: socket.socket) -> Frame:
    stream = peer.makefile("rb")
    return frames.decode(stream.read(frames.body_length(stream.read(4))))


def answer(peer: socket.socket, frame: Frame, asked: Frame) -> None:
    frame.opaque, frame.flag = asked.opaque, Flag.RESPONSE
    peer.sendall(frames.encode(frame, frames.JSON))


def sent(carrying: Courier, address: str, timeout_ms: int = 20_000) -> Receipt:
    return ended(outbox(carrying).send(OutgoingMessage("T", b"x"), address, "b", 0, timeout_ms))


@pytest.mark.parametrize("lie", [b"\xff\xff\xff\xff", b"\0\0\0\x02\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_frame_that_lies_ends_its_connection_and_is_named(lie: bytes) -> None:
    def serve(peer: socket.socket) -> None:
        request(peer)
        peer.sendall(lie)
        assert peer.recv(1) == b""

    with courier() as carrying, server(serve) as address:
        receipt = sent(carrying, address)
        assert receipt.code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        assert f"{address} sent something that is no RocketMQ frame" in receipt.remark


def test_a_server_that_hangs_up_is_named_and_the_next_request_connects_anew() -> None:
    answers = iter([False, True])

    def serve(peer: socket.socket) -> None:
        asked = request(peer)
        if next(answers):
            fields = {"msgId": "id", "queueId": "0", "queueOffset": "7"}
            answer(peer, Frame(code=0, fields=fields), asked)
            assert peer.recv(1) == b""

    with server(serve) as address, courier() as carrying:
        receipt = sent(carrying, address)
        assert (receipt.code, receipt.remark) == (
            ResponseCode.RPC_SEND_TO_CHANNEL_FAILED,
            f"{address} closed the connection",
        )
        receipt = sent(carrying, address)
        assert (receipt.code, receipt.offset_message_id, receipt.queue_offset) == (0, "id", 7)


def test_a_server_that_goes_away_is_asked_once_more() -> None:
    codes = iter([ResponseCode.GO_AWAY, ResponseCode.SUCCESS])

    def serve(peer: socket.socket) -> None:
        answer(peer, Frame(code=next(codes)), request(peer))

    with courier() as carrying, server(serve) as address:
        assert sent(carrying, address).code == ResponseCode.SUCCESS


def test_nobody_at_an_address_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with courier() as carrying:
        receipt = sent(carrying, address)
        assert receipt.code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        assert f"cannot connect to {address}" in receipt.remark
        receipt = sent(carrying, "nonsense")
        assert receipt.code == ResponseCode.RPC_ADDR_IS_NULL


def test_requests_are_signed_as_the_python_client_signs_them() -> None:
    asked: list[Frame] = []

    def serve(peer: socket.socket) -> None:
        asked.append(request(peer))
        answer(peer, Frame(code=0), asked[-1])

    with (
        courier(access_key="ak", secret_key="sk", security_token="token") as carrying,
        server(serve) as address,
    ):
        assert sent(carrying, address).code == 0
    (frame,) = asked
    assert frame.fields["AccessKey"] == "ak"
    assert frame.fields["SecurityToken"] == "token"
    assert frame.fields["Signature"] == signature(b"sk", frame)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return made_identity(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def enforcing(identity: tuple[Path, Path]) -> Iterator[Cluster]:
    chain, key = identity
    settings: dict[str, Any] = {
        "tls.server.mode": "enforcing",
        "tls.server.certPath": str(chain),
        "tls.server.keyPath": str(key),
    }
    with cluster(autoCreateTopicEnable=True, **settings) as node:
        yield node


@pytest.mark.parametrize(
    ("options", "host", "works"),
    [
        ({"tls_insecure": True}, "127.0.0.1", True),
        ({"tls_ca": "chain"}, "127.0.0.1", True),
        ({"tls_ca": "chain", "tls_check_host": True}, "localhost", True),
        ({"tls_ca": "chain", "tls_check_host": True}, "127.0.0.1", False),
    ],
    ids=["insecure", "trusted", "right host", "wrong host"],
)
def test_a_broker_is_spoken_to_in_tls(
    enforcing: Cluster, identity: tuple[Path, Path], options: dict[str, bool | str], host: str, works: bool
) -> None:
    if "tls_ca" in options:
        options = options | {"tls_ca": str(identity[0])}
    with courier(tls=True, **options) as carrying:
        receipt = sent(carrying, f"{host}:{enforcing.broker.config.listenPort}")
        assert (receipt.code == 0) is works, receipt.remark


def test_a_certificate_of_somebody_else_is_refused(enforcing: Cluster, tmp_path: Path) -> None:
    stranger, _ = made_identity(tmp_path)
    with courier(tls=True, tls_ca=str(stranger)) as carrying:
        receipt = sent(carrying, enforcing.broker.address)
        assert receipt.code == ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        assert "certificate" in receipt.remark


def test_tls_needs_something_to_trust() -> None:
    with pytest.raises(ValueError, match="tls_ca"):
        Courier(COURIER | {"tls": True})
    with pytest.raises(ValueError, match="/nowhere"):
        Courier(COURIER | {"tls": True, "tls_ca": "/nowhere.pem"})


def test_options_are_checked() -> None:
    for options, said in [
        ({"access_key": "only"}, "go together"),
        ({"tls_cert": "only"}, "go together"),
        ({"connect_ms": -1}, "connect_ms"),
        ({"speed": 1}, "no option"),
    ]:
        with pytest.raises(ValueError, match=said):
            Courier(COURIER | options)  # type: ignore[operator]
    with pytest.raises(ValueError, match="no possible time"), courier() as carrying:
        carrying.stop(-1.0)
