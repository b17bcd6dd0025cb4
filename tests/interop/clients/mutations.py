"""Real frames made wrong: a lying field, a foreign body, a flipped bit, a length that is not true."""

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.clients import remoting

FRAMES = Path(__file__).parents[1] / "frames"

# What an operator may do to everybody's harm: settings, write permission, removal of idle topics and files,
# and texts in the nameserver, each of which is synced to disk while all others wait.
OPERATOR_CODES = frozenset((25, 100, 102, 205, 316, 318, 327, 329))

HOT_CODES = frozenset((10, 11, 14, 15, 29, 30, 31, 32, 33, 310, 320, 361))
"""Sends, pulls and offsets: what the engine decodes by itself."""
HOT_SHARE = 0.75

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
NUMBERS = (0, 1, 2, 3, 4, 7, 0x7F, 0xFF, 0x100, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00FFFFFF)


def load(name: str) -> list[bytes]:
    """Read captured frames, without those of `OPERATOR_CODES`."""
    data, frames, at = (FRAMES / name).read_bytes(), [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        frames.append(data[at:end])
        at = end
    return [frame for frame in frames if _code(frame) not in OPERATOR_CODES]


def _code(frame: bytes) -> int:
    if frame[4]:
        return int.from_bytes(frame[8:10], "big")
    code: int = json.loads(frame[8 : 8 + int.from_bytes(frame[5:8], "big")])["code"]
    return code


class Mutator:
    """Makes wrong frames out of right ones, the same ones from the same seed."""

    def __init__(self, frames: list[bytes], seed: int) -> None:
        self._random = random.Random(seed)
        self._frames = frames
        self._parsed = [(json.loads(header), body) for header, body in _json_parts(frames)]
        self._hot = [parts for parts in self._parsed if parts[0]["code"] in HOT_CODES] or self._parsed
        self._bodies = [body for _, body in _parts(frames)]
        self._codes = sorted({_code(frame) for frame in frames})

    def well_formed(self) -> bytes:
        """Return a frame whose lengths and header are right and whose contents are not."""
        pick = self._random
        header, body = pick.choice(self._hot if pick.random() < HOT_SHARE else self._parsed)
        header = dict(header, extFields=dict(header.get("extFields") or {}))
        for _ in range(pick.choice((1, 1, 1, 2, 3))):
            match pick.randrange(8):
                case 0 | 1 | 2:
                    self._change_field(header["extFields"])
                case 3:
                    header["code"] = pick.choice(self._codes)
                case 4:
                    header["code"] = pick.choice((*range(9000, 9010), -1, 70_000, *self._codes))
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
