"""Frames in Python, for clients: length, kind of header, header, body.

The servers' frames are the engine's work.
"""

import json
import struct
from dataclasses import dataclass, field

from tailfin.wire import fastjson, version
from tailfin.wire.codes import Flag, Language

FRAME_BYTES_MAX = 16 * 1024 * 1024
"""Longest frame RocketMQ takes, its length field included."""

JSON = 0
BINARY = 1

_LENGTHS = struct.Struct(">iI")
_FIXED = struct.Struct(">hBhiii")
_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")


class FrameError(ValueError):
    """Bytes that are no frame; the connection they came from cannot be used any longer."""


@dataclass(slots=True, kw_only=True)
class Frame:
    """One request or response; a request of a server has that server's address as `origin`."""

    code: int
    opaque: int = 0
    flag: int = 0
    version: int = version.CURRENT
    language: str = "PYTHON"
    remark: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    origin: str | None = None

    @property
    def is_response(self) -> bool:
        """Whether it answers a request of ours; the opaque alone does not tell."""
        return bool(self.flag & Flag.RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """Whether nobody waits for an answer."""
        return bool(self.flag & Flag.ONEWAY)


def encode(frame: Frame, kind: int = JSON) -> bytes:
    """Return a frame's bytes, length field included."""
    header = _json_header(frame) if kind == JSON else _binary_header(frame)
    length = 4 + len(header) + len(frame.body)
    if length + 4 > FRAME_BYTES_MAX:
        raise FrameError(f"a frame of {length + 4} bytes; peers take at most {FRAME_BYTES_MAX}")
    return b"".join((_LENGTHS.pack(length, kind << 24 | len(header)), header, frame.body))


def body_length(prefix: bytes) -> int:
    """Return how many bytes follow the four of the length field."""
    length: int = _INT.unpack(prefix)[0]
    if not 4 <= length <= FRAME_BYTES_MAX - 4:
        raise FrameError(f"a frame cannot have {length} bytes")
    return length


def decode(data: bytes) -> Frame:
    """Read what follows the length field."""
    if len(data) < 4:
        raise FrameError(f"a frame cannot have {len(data)} bytes")
    kind, header_end = data[0], 4 + int.from_bytes(data[1:4], "big")
    if header_end > len(data):
        raise FrameError(f"a header of {header_end - 4} bytes in a frame of {len(data)}")
    try:
        read = {JSON: _read_json, BINARY: _read_binary}[kind]
    except KeyError:
        raise FrameError(f"header encoding {kind} is unknown") from None
    frame = read(data[4:header_end])
    frame.body = data[header_end:]
    return frame


def _json_header(frame: Frame) -> bytes:
    header: dict[str, object] = {"code": int(frame.code)}
    if frame.fields:
        header["extFields"] = frame.fields
    header |= {"flag": int(frame.flag), "language": frame.language, "opaque": frame.opaque}
    if frame.remark is not None:
        header["remark"] = frame.remark
    header |= {"serializeTypeCurrentRPC": "JSON", "version": frame.version}
    return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _read_json(header: bytes) -> Frame:
    try:
        given = fastjson.loads(header)
    except fastjson.NotReadable as error:
        raise FrameError(f"header: {error}") from None
    if not isinstance(given, dict):
        raise FrameError("header: not an object")
    remark, fields = given.get("remark"), given.get("extFields") or {}
    numbers = [given.get(key) or 0 for key in ("code", "opaque", "flag", "version")]
    if not all(isinstance(number, int) for number in numbers) or not isinstance(fields, dict):
        raise FrameError("header: code, opaque, flag and version are numbers, extFields is an object")
    code, opaque, flag, peer_version = numbers
    return Frame(
        code=code,
        opaque=opaque,
        flag=flag,
        version=peer_version,
        language=str(given.get("language") or "OTHER"),
        remark=None if remark is None else str(remark),
        fields={str(key): _as_text(value) for key, value in fields.items() if value is not None},
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _binary_header(frame: Frame) -> bytes:
    # Codes above 32767 lose their high bits, as in Java: those requests need the JSON header.
    code = (int(frame.code) + 0x8000) % 0x10000 - 0x8000
    language = Language[frame.language] if frame.language in Language.__members__ else Language.OTHER
    remark = (frame.remark or "").encode("utf-8", "replace")
    parts = [_FIXED.pack(code, language, frame.version, frame.opaque, frame.flag, len(remark)), remark]
    pairs = []
    for key, value in frame.fields.items():
        key_bytes, value_bytes = key.encode("utf-8", "replace"), value.encode("utf-8", "replace")
        pairs += [_SHORT.pack(len(key_bytes)), key_bytes, _INT.pack(len(value_bytes)), value_bytes]
    fields = b"".join(pairs)
    return b"".join([*parts, _INT.pack(len(fields)), fields])


def _read_binary(header: bytes) -> Frame:
    try:
        code, language, peer_version, opaque, flag, remark_length = _FIXED.unpack_from(header)
        remark, at = _slice(header, _FIXED.size, remark_length)
        (length,) = _INT.unpack_from(header, at)
        pairs, _ = _slice(header, at + _INT.size, length)
        fields = _read_pairs(pairs)
        known = language in Language._value2member_map_
        return Frame(
            code=code,
            opaque=opaque,
            flag=flag,
            version=peer_version,
            language=Language(language).name if known else "OTHER",
            remark=remark.decode() or None,
            fields=fields,
        )
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"header: {error}") from None


def _read_pairs(data: bytes) -> dict[str, str]:
    fields: dict[str, str] = {}
    at = 0
    while at < len(data):
        (length,) = _SHORT.unpack_from(data, at)
        key, at = _slice(data, at + _SHORT.size, length)
        (length,) = _INT.unpack_from(data, at)
        value, at = _slice(data, at + _INT.size, length)
        # Java reads an empty text as null, and a null is as good as absent.
        if key and value:
            fields[key.decode()] = value.decode()
    return fields


def _slice(data: bytes, start: int, length: int) -> tuple[bytes, int]:
    if length < 0 or start + length > len(data):
        raise FrameError(f"header: a length of {length} where {len(data) - start} bytes are left")
    return data[start : start + length], start + length
