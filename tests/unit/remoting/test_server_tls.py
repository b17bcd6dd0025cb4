import asyncio
import shutil
import ssl
from pathlib import Path

import pytest

from tailfin import remoting
from tailfin.config import ConfigError, ServerConfig
from tailfin.wire.frame import Frame
from tests.unit.identities import made_identity
from tests.unit.loops import in_loop, until
from tests.unit.remoting.raw import Client, serving


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.shows("RM-10")
def test_permissive_serves_tls_and_plain_on_one_port() -> None:
    with serving() as served, Client(served.port) as plain, Client(served.port, trusting()) as secret:
        assert plain.ask(Frame(code=1, opaque=1)).opaque == 1
        assert secret.ask(Frame(code=1, opaque=2)).opaque == 2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_long_and_many_frames_pass_through_tls(version: ssl.TLSVersion) -> None:
    context = trusting()
    context.maximum_version = version
    with serving() as served, Client(served.port, context) as client:
        client.send(*(Frame(code=1, opaque=n, body=b"b" * n) for n in range(300)))
        assert sorted(client.receive().opaque for _ in range(300)) == list(range(300))
        assert len(client.ask(Frame(code=1, body=bytes(3 << 20))).body) == 3 << 20


@pytest.mark.shows("RM-10")
def test_disabled_closes_tls_clients() -> None:
    with serving(**{"tls.server.mode": "disabled"}) as served:
        with Client(served.port) as plain:
            assert plain.ask(Frame(code=1, opaque=1)).opaque == 1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            Client(served.port, trusting())


@pytest.mark.shows("RM-10")
def test_enforcing_closes_plain_clients() -> None:
    with serving(**{"tls.server.mode": "enforcing"}) as served:
        with Client(served.port, trusting()) as secret:
            assert secret.ask(Frame(code=1, opaque=1)).opaque == 1
        with Client(served.port) as plain:
            plain.send(Frame(code=1))
            assert plain.is_closed_by_server()
        assert len(served.requests) == 1


def test_a_proxy_header_may_precede_tls() -> None:
    with serving() as served:
        with Client(served.port) as client:
            client.socket.sendall(b"PROXY TCP4 10.1.2.3 10.0.0.1 4711 10911\r\n")
            client.socket = trusting().wrap_socket(client.socket)
            client._file = client.socket.makefile("rb")
            assert client.ask(Frame(code=1, opaque=1)).opaque == 1
        assert served.requests[0].peer == "10.1.2.3:4711"


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return made_identity(tmp_path_factory.mktemp("tls"))


def test_a_certificate_from_files_is_shown(identity: tuple[Path, Path]) -> None:
    chain, key = identity
    context = ssl.create_default_context(cafile=str(chain))
    settings = {"tls.server.certPath": str(chain), "tls.server.keyPath": str(key)}
    with serving(**settings) as served, Client(served.port, context) as client:
        assert client.ask(Frame(code=1, opaque=1)).opaque == 1


def test_clients_must_show_a_certificate_when_asked(identity: tuple[Path, Path]) -> None:
    chain, key = identity
    settings: dict[str, object] = {
        "tls.server.certPath": str(chain),
        "tls.server.keyPath": str(key),
        "tls.server.need.client.auth": "require",
        "tls.server.authClient": "true",
        "tls.server.trustCertPath": str(chain),
    }
    with serving(**settings) as served:
        with pytest.raises((ssl.SSLError, ConnectionError)), Client(served.port, trusting()) as stranger:
            stranger.ask(Frame(code=1))
        known = trusting()
        known.load_cert_chain(chain, key)
        with Client(served.port, known) as client:
            assert client.ask(Frame(code=1, opaque=1)).opaque == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tls.server.certPath": "x"}, "together"),
        ({"tls.server.keyPassword": "x"}, "not encrypted"),
        ({"tls.server.mode": "sometimes"}, "permissive"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ServerConfig.of(settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tls.server.certPath": "/nowhere.pem", "tls.server.keyPath": "/nowhere.key"}, "/nowhere"),
        ({"tls.server.mode": "enforcing", "tls.test.mode.enable": "false"}, "certificate"),
    ],
)
def test_a_server_without_a_usable_certificate_does_not_start(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said), serving(**settings):
        pass


def shown_certificate(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port)).replace("\n", "")


@in_loop
async def test_a_replaced_certificate_is_shown_to_new_clients(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chain, key = made_identity(tmp_path / "now")
    other_chain, other_key = made_identity(tmp_path / "next")
    first, second = (path.read_text().replace("\n", "") for path in (chain, other_chain))
    config = ServerConfig.of({"tls.server.certPath": str(chain), "tls.server.keyPath": str(key)})
    server = remoting.Server(config.engine_options())
    port = server.listen("127.0.0.1", 0)
    try:
        with await asyncio.to_thread(Client, port, trusting()) as before:
            shutil.copy(other_chain, chain)
            await until(lambda: "cannot be used" in caplog.text, "the key that does not fit to be noticed")
            assert await asyncio.to_thread(shown_certificate, port) == first
            shutil.copy(other_key, key)
            async with asyncio.timeout(15):
                while await asyncio.to_thread(shown_certificate, port) != second:
                    await asyncio.sleep(0.05)
            answer = await asyncio.to_thread(before.ask, Frame(code=1, opaque=5))
            assert answer.opaque == 5
    finally:
        await server.stop(0)
