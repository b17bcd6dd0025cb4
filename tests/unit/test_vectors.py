"""Values that released Java classes gave for known inputs, byte for byte."""

from pathlib import Path

import pytest

from tailfin.message import (
    Message,
    decode_batch,
    decode_message_id,
    encode_batch,
    encode_message_id,
    java_hash,
)
from tailfin.message import encode_record as engine_record
from tailfin.store import Store
from tests.unit.oracle import records as oracle

# The Java encoder behind the published records leaves the body's checksum 0; the engine always writes it.
CRC_AT = slice(8, 12)
HELLO_CRC = (907060870).to_bytes(4, "big")

EVERY_FIELD = bytes.fromhex(
    "00000065daa320a7000000000000000100000002000000000000000300000000000000040000000000000000000000050a000001"
    "0000000100000000000000060a00000200002a9f0000000700000000000000080000000568656c6c6f015400046b017602"
)
IPV6_HOSTS = bytes.fromhex(
    "00000079daa320a700000000000000010000000000000000000000000000000000000004000000300000000000000000fe800000"
    "000000000000000000000001000000010000000000000000fe8000000000000000000000000000020000000200000000000000000000"
    "00000000000568656c6c6f01540000"
)
BATCH_ENTRY = bytes.fromhex("000000250000000000000000000000000000000178000e6b01760257414954017472756502")


def with_crc(record: bytes) -> bytes:
    return record[:8] + HELLO_CRC + record[12:]


@pytest.mark.shows("CL-13")
def test_a_record_with_every_field() -> None:
    encoded = engine_record(
        topic="T",
        body=b"hello",
        queue_id=1,
        flag=2,
        queue_offset=3,
        physical_offset=4,
        born_timestamp=5,
        born_host="10.0.0.1:1",
        store_timestamp=6,
        store_host="10.0.0.2:10911",
        reconsume_times=7,
        prepared_offset=8,
        properties=b"k\x01v\x02",
    )
    assert len(encoded) == 101
    assert encoded == with_crc(EVERY_FIELD)
    message = Message.decode(encoded)
    assert (message.queue_offset, message.physical_offset, message.properties) == (3, 4, {"k": "v"})


@pytest.mark.shows("CL-31")
def test_a_record_with_ipv6_hosts() -> None:
    encoded = engine_record(
        topic="T",
        body=b"hello",
        queue_id=1,
        physical_offset=4,
        born_host="[fe80::1]:1",
        store_host="[fe80::2]:2",
    )
    assert len(encoded) == 121
    assert encoded == with_crc(IPV6_HOSTS)
    assert Message.decode(encoded).sys_flag == 0x30


def test_the_published_records_are_the_oracles() -> None:
    record = oracle.decode_record(EVERY_FIELD)
    assert oracle.encode_record(record) == EVERY_FIELD
    assert oracle.encode_record(oracle.decode_record(IPV6_HOSTS)) == IPV6_HOSTS


def test_a_batch_entry() -> None:
    entry = (0, b"x", b"k\x01v\x02WAIT\x01true\x02")
    assert encode_batch([entry]) == BATCH_ENTRY
    assert decode_batch(BATCH_ENTRY * 2) == [entry, entry]


def test_checksums_of_bodies() -> None:
    crc_of = {body: Message.decode(engine_record(topic="T", body=body)).body_crc for body in (b"hello", b"")}
    assert crc_of == {b"hello": 907060870, b"": 0}


def test_checksums_of_records_are_written_backwards() -> None:
    assert oracle.encode_property_crc(1234567890) == b"__CRC32#\x010987654321\x02"
    assert oracle.encode_property_crc(42) == b"__CRC32#\x012400000000\x02"
    encoded = engine_record(topic="T", body=b"hello", property_crc=True)
    assert encoded[-20:] == oracle.encode_property_crc(oracle.body_crc(encoded[:-20]))


@pytest.mark.shows("CL-17")
@pytest.mark.parametrize(
    ("host", "offset", "message_id"),
    [
        ("10.0.0.1:10911", 123456, "0A00000100002A9F000000000001E240"),
        ("[fe80::2]:2", 4, "FE800000000000000000000000000002000000020000000000000004"),
        ("10.0.6.82:8123", 0, "0A00065200001FBB0000000000000000"),
    ],
)
def test_message_ids(host: str, offset: int, message_id: str) -> None:
    assert encode_message_id(host, offset) == message_id
    assert decode_message_id(message_id) == (host, offset)


@pytest.mark.parametrize(
    ("text", "hashed"), [("TagA", 2598919), ("中文", 646394), ("polygenelubricants", -(2**31)), ("", 0)]
)
def test_hashes(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


@pytest.mark.shows("CK-01", "CK-02")
def test_a_checkpoint_is_a_page_of_longs(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        placed = store.append("T", b"x", keys="k")
        stored = placed.store_timestamp
        store.flush()
    page = (tmp_path / "checkpoint").read_bytes()
    assert len(page) == 4096
    assert [int.from_bytes(page[at : at + 8], "big") for at in (0, 8, 16)] == [stored] * 3
    # 5.5.0's position of dispatch: never 0 once something is stored, so the end of the first record here.
    assert int.from_bytes(page[40:48], "big") == placed.size
    assert not any(page[48:])
