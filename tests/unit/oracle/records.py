"""The stored message in plain Python: slow, obvious, and written from the byte tables alone.

Tests compare the engine with this module, so nothing here may be taken from the engine.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB
MAGIC_BLANK = 0xCBD43194

BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20

PROPERTIES_BYTES_MAX = 32767
CRC_PROPERTY = b"__CRC32#"
CRC_PROPERTY_BYTES = 20

Host = tuple[str, int]
"""An address and a port."""

Pair = tuple[bytes, bytes]
"""The name and value of a property."""


class Malformed(ValueError):
    """The bytes do not follow the tables."""


# Records


@dataclass(frozen=True, kw_only=True)
class Record:
    """One commit log record, field by field."""

    topic: bytes
    body: bytes = b""
    properties: bytes = b""
    body_crc: int = 0
    queue_id: int = 0
    flag: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: Host = ("127.0.0.1", 0)
    store_timestamp: int = 0
    store_host: Host = ("127.0.0.1", 0)
    reconsume_times: int = 0
    prepared_offset: int = 0


def encode_record(record: Record, *, property_crc: bool = False, long_topics: bool = True) -> bytes:
    """Encode a record; the IPv6 bits follow the addresses, the version follows the topic."""
    properties = record.properties
    if property_crc:
        if properties and not properties.endswith(b"\x02"):
            properties += b"\x02"
        properties += bytes(CRC_PROPERTY_BYTES)
    if len(properties) > PROPERTIES_BYTES_MAX:
        raise Malformed(f"{len(properties)} bytes of properties")
    version_2 = len(record.topic) > 127
    if len(record.topic) > (255 if long_topics else 127):
        raise Malformed(f"{len(record.topic)} bytes of topic")

    after_size = b"".join(
        [
            struct.pack(">I", MAGIC_V2 if version_2 else MAGIC_V1),
            struct.pack(">I", record.body_crc),
            struct.pack(">i", record.queue_id),
            struct.pack(">i", record.flag),
            struct.pack(">q", record.queue_offset),
            struct.pack(">q", record.physical_offset),
            struct.pack(">i", _sys_flag_of_hosts(record)),
            struct.pack(">q", record.born_timestamp),
            encode_host(record.born_host),
            struct.pack(">q", record.store_timestamp),
            encode_host(record.store_host),
            struct.pack(">i", record.reconsume_times),
            struct.pack(">q", record.prepared_offset),
            struct.pack(">i", len(record.body)) + record.body,
            struct.pack(">h" if version_2 else ">b", len(record.topic)) + record.topic,
            struct.pack(">h", len(properties)) + properties,
        ]
    )
    encoded = struct.pack(">i", 4 + len(after_size)) + after_size
    if property_crc:
        covered = encoded[:-CRC_PROPERTY_BYTES]
        encoded = covered + encode_property_crc(body_crc(covered))
    return encoded


def _sys_flag_of_hosts(record: Record) -> int:
    flag = record.sys_flag & ~(BORN_HOST_V6 | STORE_HOST_V6)
    if _is_ipv6(record.born_host):
        flag |= BORN_HOST_V6
    if _is_ipv6(record.store_host):
        flag |= STORE_HOST_V6
    return flag


def decode_record(data: bytes) -> Record:
    """Decode the record at the start of ``data``."""
    size = _Reader(data).int32()
    if size < 91:
        raise Malformed(f"a record of {size} bytes")
    if size > len(data):
        raise Malformed(f"{size} bytes stated, {len(data)} present")
    reader = _Reader(data[:size])
    reader.int32()
    magic = reader.uint32()
    if magic not in (MAGIC_V1, MAGIC_V2):
        raise Malformed(f"magic {magic:#010x}")
    crc = reader.uint32()
    queue_id = reader.int32()
    flag = reader.int32()
    queue_offset = reader.int64()
    physical_offset = reader.int64()
    sys_flag = reader.int32()
    born_timestamp = reader.int64()
    born_host = decode_host(reader.take(20 if sys_flag & BORN_HOST_V6 else 8))
    store_timestamp = reader.int64()
    store_host = decode_host(reader.take(20 if sys_flag & STORE_HOST_V6 else 8))
    reconsume_times = reader.int32()
    prepared_offset = reader.int64()
    body = reader.take(reader.int32())
    topic = reader.take(reader.int16() if magic == MAGIC_V2 else reader.int8())
    properties = reader.take(reader.int16())
    reader.expect_end()
    return Record(
        topic=topic,
        body=body,
        properties=properties,
        body_crc=crc,
        queue_id=queue_id,
        flag=flag,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        sys_flag=sys_flag,
        born_timestamp=born_timestamp,
        born_host=born_host,
        store_timestamp=store_timestamp,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_offset=prepared_offset,
    )


def encode_blank(space: int) -> bytes:
    """Encode the head of the record that fills the last ``space`` bytes of a file."""
    if space < 8:
        raise Malformed(f"a blank record of {space} bytes")
    return struct.pack(">iI", space, MAGIC_BLANK)


def encode_host(host: Host) -> bytes:
    """Encode the address bytes, then the port in four bytes."""
    address, port = host
    return ipaddress.ip_address(address).packed + struct.pack(">i", port)


def decode_host(data: bytes) -> Host:
    """Decode 8 bytes (IPv4) or 20 bytes (IPv6)."""
    if len(data) not in (8, 20):
        raise Malformed(f"a host of {len(data)} bytes")
    port = int.from_bytes(data[-4:], "big")
    if port > 65535:
        raise Malformed(f"port {port}")
    return str(ipaddress.ip_address(data[:-4])), port


def _is_ipv6(host: Host) -> bool:
    return ipaddress.ip_address(host[0]).version == 6


# Checksums


class PropertyCrc(Enum):
    """Whether the checksum at the end of a record's properties agrees with the record."""

    ABSENT = "absent"
    INTACT = "intact"
    BROKEN = "broken"


def body_crc(body: bytes) -> int:
    """CRC-32 without its top bit."""
    return zlib.crc32(body) & 0x7FFFFFFF


def encode_property_crc(crc: int) -> bytes:
    """Encode the checksum property: ten decimal digits, the least significant first."""
    digits = str(crc).zfill(10)[::-1]
    return CRC_PROPERTY + b"\x01" + digits.encode() + b"\x02"


def property_crc_state(encoded: bytes) -> PropertyCrc:
    """Judge the checksum property of one whole encoded record."""
    if not decode_record(encoded).properties[-CRC_PROPERTY_BYTES:].startswith(CRC_PROPERTY + b"\x01"):
        return PropertyCrc.ABSENT
    covered, stored = encoded[:-CRC_PROPERTY_BYTES], encoded[-CRC_PROPERTY_BYTES:]
    return PropertyCrc.INTACT if stored == encode_property_crc(body_crc(covered)) else PropertyCrc.BROKEN


# Properties


def encode_properties(pairs: Iterable[Pair]) -> bytes:
    """Encode pairs in the given order; a pair without a value is left out."""
    return b"".join(name + b"\x01" + value + b"\x02" for name, value in pairs if value)


def decode_properties(text: bytes) -> list[Pair]:
    """Decode all pairs that have a name and a value, in stored order."""
    pairs = []
    for part in text.split(b"\x02"):
        name, _, value = part.partition(b"\x01")
        if name and value:
            pairs.append((name, value))
    return pairs


def find_property(text: bytes, name: bytes) -> bytes | None:
    """Look a property up; of two values the later one counts."""
    return dict(decode_properties(text)).get(name)


# Client batches


@dataclass(frozen=True, kw_only=True)
class BatchEntry:
    """One message of a client's batch body."""

    flag: int = 0
    body: bytes = b""
    properties: bytes = b""


def encode_batch(entries: Iterable[BatchEntry]) -> bytes:
    """Encode entries one after another."""
    return b"".join(_encode_entry(entry) for entry in entries)


def _encode_entry(entry: BatchEntry) -> bytes:
    if len(entry.properties) > PROPERTIES_BYTES_MAX:
        raise Malformed(f"{len(entry.properties)} bytes of properties")
    after_size = b"".join(
        [
            struct.pack(">i", 0),  # magic
            struct.pack(">i", 0),  # body CRC
            struct.pack(">i", entry.flag),
            struct.pack(">i", len(entry.body)) + entry.body,
            struct.pack(">h", len(entry.properties)) + entry.properties,
        ]
    )
    return struct.pack(">i", 4 + len(after_size)) + after_size


def decode_batch(data: bytes) -> list[BatchEntry]:
    """Decode a whole batch body."""
    entries = []
    batch = _Reader(data)
    while not batch.at_end():
        size = batch.int32()
        entry = _Reader(batch.take(size - 4))
        entry.int32()  # magic
        entry.int32()  # body CRC
        flag = entry.int32()
        body = entry.take(entry.int32())
        properties = entry.take(entry.int16())
        entry.expect_end()
        entries.append(BatchEntry(flag=flag, body=body, properties=properties))
    return entries


# Ids and hashes


def encode_message_id(store_host: Host, physical_offset: int) -> str:
    """Encode an offset message id."""
    return (encode_host(store_host) + struct.pack(">q", physical_offset)).hex().upper()


def decode_message_id(text: str) -> tuple[Host, int]:
    """Decode an offset message id into the store host and the physical offset."""
    if len(text) not in (32, 56):
        raise Malformed(f"a message id of {len(text)} characters")
    if not set(text) <= set("0123456789abcdefABCDEF"):
        raise Malformed(f"message id {text!r}")
    data = bytes.fromhex(text)
    return decode_host(data[:-8]), int.from_bytes(data[-8:], "big", signed=True)


def java_hash(text: str) -> int:
    """Compute Java's ``String.hashCode``."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = 31 * value + int.from_bytes(units[at : at + 2], "big")
    return (value + 2**31) % 2**32 - 2**31


def tags_code(tags: str | None) -> int:
    """Compute what a consume queue keeps of the TAGS property."""
    return java_hash(tags or "")


def key_hash(topic: str, key: str) -> int:
    """Compute the index hash of a key."""
    value = abs(java_hash(f"{topic}#{key}"))
    return 0 if value == 2**31 else value


class _Reader:
    """Takes big-endian fields from the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data):
            raise Malformed(f"{count} bytes wanted, {len(self._data)} left")
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def int8(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def uint32(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def int64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def at_end(self) -> bool:
        return not self._data

    def expect_end(self) -> None:
        if self._data:
            raise Malformed(f"{len(self._data)} bytes left over")
