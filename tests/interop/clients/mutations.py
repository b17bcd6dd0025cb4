"""Real frames made wrong: a lying field, a foreign body, a flipped bit, a length that is not true."""

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailfin.wire.codes import Code
from tests.interop.clients import remoting

FRAMES = Path(__file__).parents[1] / "frames"

VALUES = (
    *("", " ", "0", "1", "-1", "7", "2147483647", "-2147483648", "2147483648", "9223372036854775807"),
    *("-9223372036854775808", "9223372036854775808", "1e9", "0x10", "NaN", "true", "null", "[]", "{}", '"'),
    *(
        "é中🐟",
        "\x00",
        "\x01\x02",
        "a" * 127,
        "a" * 128,
        "a" * 256,
        "z" * 40_000,
        "../../etc/passwd",
        "/",
        "%RETRY%",
    ),
    *("%DLQ%x", "TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "*", "A || B", "||", "broker-a"),
)
CODES = (*range(9000, 9010), -1, 70_000, *sorted(Code))
"""Those that nobody knows, and every code there is, whoever may be asked for it."""
NUMBERS = (0, 1, 2, 3, 4, 7, 0x7F, 0xFF, 0x100, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00FFFFFF)


def load(name: str) -> list[bytes]:
    """Read captured frames."""
    data, frames, at = (FRAMES / name).read_bytes(), [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        frames.append(data[at:end])
        at = end
    return frames


class Mutator:
    """Makes wrong frames out of right ones, as many of each code; the same ones from the same seed."""

    def __init__(self, frames: list[bytes], seed: int) -> None:
        self._random = random.Random(seed)
        self._frames = frames
        self._by_code: dict[int, list[tuple[dict[str, Any], bytes]]] = {}
        for text, body in _json_parts(frames):
            header = json.loads(text)
            self._by_code.setdefault(header["code"], []).append((header, body))
        self._captured = sorted(self._by_code)
        self._bodies = [body for _, body in _parts(frames)]

    def well_formed(self) -> bytes:
        """Return a frame whose lengths and header are right and whose contents are not."""
        pick = self._random
        header, body = pick.choice(self._by_code[pick.choice(self._captured)])
        header = dict(header, extFields=dict(header.get("extFields") or {}))
        for _ in range(pick.choice((1, 1, 1, 2, 3))):
            match pick.randrange(8):
                case 0 | 1 | 2:
                    self._change_field(header["extFields"])
                case 3:
                    header["code"] = pick.choice(self._captured)
                case 4:
                    header["code"] = pick.choice(CODES)
                case 5:
                    header["flag"] = pick.randrange(4)
                case 6:
                    body = pick.choice(self._bodies)
                case _:
                    body = self.damaged(body)
        text = json.dumps(header).encode()
        return remoting.frame(text, body)

    def _change_field(self, fields: dict[str, Any]) -> None:
        if not fields:
            return
        name = self._random.choice(list(fields))
        if self._random.random() < 0.2:
            del fields[name]
        else:
            fields[name] = self._random.choice(VALUES)

    def damaged(self, data: bytes) -> bytes:
        """Flip, cut, lengthen or overwrite a part of some bytes."""
        pick, made = self._random, bytearray(data)
        if not made:
            return pick.randbytes(pick.choice((1, 4, 20, 91, 300)))
        at = pick.randrange(len(made))
        match pick.randrange(5):
            case 0:
                made[at] ^= 1 << pick.randrange(8)
            case 1:
                del made[at:]
            case 2:
                made += pick.randbytes(pick.randrange(1, 64))
            case 3:
                made[at : at + 4] = struct.pack(">I", pick.choice(NUMBERS))
            case _:
                made[at : at + 8] = pick.randbytes(8)
        return bytes(made)

    def malformed(self) -> bytes:
        """Return bytes that need not be a frame at all; nobody has to read on behind them."""
        pick, frame = self._random, self._random.choice(self._frames)
        match pick.randrange(6):
            case 0:
                return struct.pack(">I", pick.choice(NUMBERS)) + frame[4:]
            case 1:
                return frame[:4] + struct.pack(">I", pick.choice(NUMBERS)) + frame[8:]
            case 2:
                return frame[: pick.randrange(len(frame))]
            case 3:
                return pick.randbytes(pick.randrange(1, 200))
            case 4:
                inner = self.damaged(frame[4:])
                return struct.pack(">I", len(inner)) + inner
            case _:
                return self.damaged(frame)


def _parts(frames: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for frame in frames:
        end = 8 + int.from_bytes(frame[5:8], "big")
        yield frame[8:end], frame[end:]


def _json_parts(frames: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return _parts([frame for frame in frames if frame[4] == 0])
