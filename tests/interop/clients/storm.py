"""A flood of wrong frames at one server: `python -m tests.interop.clients.storm ADDRESS FRAMES COUNT SEED`.

Each connection sends many frames whose contents are wrong, asks a question of its own and waits for the
answer, so that all before it were read; then it sends bytes that need not be a frame, and goes. One JSON line
tells what was sent and how the server took it.
"""

import asyncio
import json
import socket
import struct
import sys
from dataclasses import asdict, dataclass

from tests.interop.clients import mutations, remoting
from tests.interop.clients.mutations import Mutator

AT_ONCE = 8
FRAMES_A_CONNECTION = 100
ANSWER_S = 60
LAST_OPAQUE = 2_125_315_823
MEMBERS_OF_A_GROUP = 38
"""A question that is no hot one: it waits its turn behind the administrative requests of its connection."""


@dataclass
class Taken:
    """How a server took a storm."""

    frames: int = 0
    connections: int = 0
    answered: int = 0
    """Connections whose last question was answered."""
    closed_early: int = 0
    """Connections that the server closed although every frame was well formed."""
    silent: int = 0
    """Connections whose last question had no answer in time."""


def question() -> bytes:
    """Return a request that every server answers."""
    header = {
        "code": MEMBERS_OF_A_GROUP,
        "language": "PYTHON",
        "version": 513,
        "opaque": LAST_OPAQUE,
        "flag": 0,
        "extFields": {"consumerGroup": "nobody"},
    }
    return remoting.frame(json.dumps(header).encode(), b"")


async def replay(host: str, port: int, frames: list[bytes]) -> None:
    """Send right frames as they are, so that the topics and groups they name exist."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"".join(frame for frame in frames if frame[4] == 0) + question())
    await _answer(reader)
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> bool:
    """Read until the last question's answer; return whether it came before the end."""
    wanted, tail = f'"opaque":{LAST_OPAQUE}'.encode(), b""
    while data := await reader.read(1 << 18):
        if wanted in (tail + data).replace(b" ", b""):
            return True
        tail = data[-64:]
    return False


async def connection(host: str, port: int, mutator: Mutator, taken: Taken) -> None:
    """Send one connection's frames."""
    reader, writer = await asyncio.open_connection(host, port)
    # Closed without a wait, or the ports of this machine would run out.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    taken.connections += 1
    try:
        writer.write(b"".join(mutator.well_formed() for _ in range(FRAMES_A_CONNECTION - 1)) + question())
        if await asyncio.wait_for(_answer(reader), ANSWER_S):
            taken.answered += 1
        else:
            taken.closed_early += 1
        writer.write(mutator.malformed())
        await writer.drain()
        writer.write_eof()
        while await asyncio.wait_for(reader.read(1 << 18), ANSWER_S):
            pass
    except TimeoutError:
        taken.silent += 1
    except ConnectionError:
        pass  # it may close at bytes that are no frame
    finally:
        taken.frames += FRAMES_A_CONNECTION
        writer.transport.abort()


async def storm(address: str, frames: list[bytes], count: int, seed: int) -> Taken:
    """Send so many wrong frames."""
    host, _, port = address.rpartition(":")
    taken, mutator = Taken(), Mutator(frames, seed)
    await replay(host, int(port), frames)

    async def sender() -> None:
        while taken.connections * FRAMES_A_CONNECTION < count:
            await connection(host, int(port), mutator, taken)

    await asyncio.gather(*(sender() for _ in range(AT_ONCE)))
    return taken


def main() -> None:
    """Send a storm and print how it was taken."""
    address, name, count, seed = sys.argv[1:]
    taken = asyncio.run(storm(address, mutations.load(name), int(count), int(seed)))
    print(json.dumps(asdict(taken)))


if __name__ == "__main__":
    main()
