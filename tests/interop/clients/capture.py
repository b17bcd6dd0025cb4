"""Records what official clients send: `python -m tests.interop.clients.capture` writes tests/interop/frames.

The clients reach the official servers through proxies. The broker listens at another address of loopback than
it tells, and a proxy listens where it tells. A few frames of each kind are kept, whole, one after the other.

Clients put the address of their machine into names and ids, so they must see none but loopback:

    sudo unshare -n sh -c 'ip link set lo up && .venv/bin/python -m tests.interop.clients.capture'
"""

import asyncio
import json
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.clients import go_client, java_client, mqadmin_run, servers, test_transactions
from tests.interop.clients.clusters import ASKS_EARLY, Cluster

FRAMES = Path(__file__).parents[1] / "frames"
KEPT_OF_A_KIND = 4
LONGEST = 8192
BEHIND = "127.0.0.2"


class Recorder:
    """Keeps a few frames of each kind: request code, encoding of the header, request or answer."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self._kinds: Counter[tuple[object, ...]] = Counter()

    def see(self, pending: bytearray) -> None:
        """Take whole frames off what a connection has sent so far."""
        while len(pending) >= 4 and len(pending) >= (end := 4 + int.from_bytes(pending[:4], "big")):
            frame = bytes(pending[:end])
            del pending[:end]
            kind = _kind(frame)
            if end <= LONGEST and self._kinds[kind] < KEPT_OF_A_KIND:
                self._kinds[kind] += 1
                self.frames.append(frame)

    def write(self, path: Path) -> None:
        """Write the frames, sorted by kind."""
        path.parent.mkdir(exist_ok=True)
        in_order: list[bytes] = sorted(self.frames, key=_sorting)
        path.write_bytes(b"".join(in_order))


def _sorting(frame: bytes) -> str:
    return str(_kind(frame))


def _kind(frame: bytes) -> tuple[object, ...]:
    if frame[4] == 0:
        header = json.loads(frame[8 : 8 + int.from_bytes(frame[5:8], "big")])
        return "json", header["code"], header["flag"] & 3, header.get("version")
    return "binary", int.from_bytes(frame[8:10], "big"), frame[18] & 3


@contextmanager
def proxy(listen: tuple[str, int], target: tuple[str, int], recorder: Recorder) -> Iterator[str]:
    """Pass bytes on between clients and a server, and record what the clients send."""
    loop = asyncio.new_event_loop()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, recorded: bool) -> None:
        pending = bytearray()
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
            if recorded:
                pending += data
                recorder.see(pending)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(*target)
        both = (pipe(reader, back_writer, True), pipe(back_reader, writer, False))
        await asyncio.gather(*both, return_exceptions=True)

    server = loop.run_until_complete(asyncio.start_server(serve, *listen))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname()[:2])
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def main() -> None:
    """Run all official clients through proxies, and write what they sent."""
    interfaces = [name for _, name in socket.if_nameindex()]
    assert interfaces == ["lo"], f"the clients would tell of {interfaces}"
    to_broker, to_namesrv = Recorder(), Recorder()
    home = Path(tempfile.mkdtemp(prefix="tailfin-capture-"))
    behind = {"bindAddress": BEHIND, **ASKS_EARLY}
    with servers.nameserver("official", home / "namesrv") as namesrv:
        host, _, port = namesrv.address.partition(":")
        with (
            proxy((host, 0), (host, int(port)), to_namesrv) as seen_namesrv,
            servers.broker("official", home / "broker", namesrv.address, settings=behind) as broker,
            proxy(_pair(broker.address), (BEHIND, _pair(broker.address)[1]), to_broker),
        ):
            cluster = Cluster("official", seen_namesrv, {"broker-a": broker.address})
            cluster.wait_registered()
            _use(cluster, home)
    to_broker.write(FRAMES / "to_broker.bin")
    to_namesrv.write(FRAMES / "to_namesrv.bin")


def _pair(address: str) -> tuple[str, int]:
    host, _, port = address.partition(":")
    return host, int(port)


def _use(cluster: Cluster, home: Path) -> None:
    java_client.run("4.9.8", cluster, home)
    java_client.run("5.5.0", cluster, home)
    java_client.run("5.5.0", cluster, home, binary=True)
    java_client.run("5.5.0", cluster, home, *test_transactions.SCENARIOS)
    go_client.run(cluster, home)
    mqadmin_run.run(cluster, home)


if __name__ == "__main__":
    main()
