"""The engine's codecs against the plain-Python ones, on whatever hypothesis comes up with."""

import dataclasses
import ipaddress
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tailfin.message import (
    Message,
    decode_batch,
    decode_message_id,
    encode_batch,
    encode_message_id,
    encode_record,
    java_hash,
)
from tests.unit.oracle import records as oracle

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
# Lone surrogates cannot be stored: Python itself refuses to give them to the engine as UTF-8.
texts = st.text(st.characters(exclude_categories=["Cs"]))
topics = st.text(string.ascii_letters + "%_-|", min_size=1, max_size=255)
property_parts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1)
hosts = st.tuples(
    st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str),
    st.integers(0, 65535),
)


def written(host: oracle.Host) -> str:
    """A host as the engine takes and gives it."""
    address, port = host
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def same_host(shown: str, host: oracle.Host) -> bool:
    """Two spellings of one address are one host."""
    address, _, port = shown.rpartition(":")
    expected = (ipaddress.ip_address(host[0]), host[1])
    return (ipaddress.ip_address(address.strip("[]")), int(port)) == expected


@st.composite
def records(draw: st.DrawFn) -> oracle.Record:
    """Any record that can be stored."""
    body = draw(st.binary(max_size=300))
    pairs = draw(st.dictionaries(property_parts, property_parts, max_size=5))
    return oracle.Record(
        topic=draw(topics).encode(),
        body=body,
        properties=oracle.encode_properties((name.encode(), value.encode()) for name, value in pairs.items()),
        body_crc=oracle.body_crc(body),
        queue_id=draw(int32s),
        flag=draw(int32s),
        queue_offset=draw(int64s),
        physical_offset=draw(int64s),
        sys_flag=draw(int32s),
        born_timestamp=draw(int64s),
        born_host=draw(hosts),
        store_timestamp=draw(int64s),
        store_host=draw(hosts),
        reconsume_times=draw(int32s),
        prepared_offset=draw(int64s),
    )


def encoded(record: oracle.Record, *, property_crc: bool = False) -> bytes:
    """The engine's bytes of a record."""
    return encode_record(
        topic=record.topic.decode(),
        body=record.body,
        properties=record.properties,
        queue_id=record.queue_id,
        flag=record.flag,
        sys_flag=record.sys_flag,
        queue_offset=record.queue_offset,
        physical_offset=record.physical_offset,
        born_timestamp=record.born_timestamp,
        born_host=written(record.born_host),
        store_timestamp=record.store_timestamp,
        store_host=written(record.store_host),
        reconsume_times=record.reconsume_times,
        prepared_offset=record.prepared_offset,
        property_crc=property_crc,
    )


@pytest.mark.shows("CL-13", "CL-31")
@given(records(), st.booleans())
def test_records_have_the_same_bytes(record: oracle.Record, property_crc: bool) -> None:
    assert encoded(record, property_crc=property_crc) == oracle.encode_record(
        record, property_crc=property_crc
    )


@pytest.mark.shows("CL-13", "CL-17")
@given(records())
def test_records_read_back_field_by_field(record: oracle.Record) -> None:
    data = oracle.encode_record(record)
    message = Message.decode(data)
    assert message.raw == data
    assert message.size == len(data)
    assert message.topic == record.topic.decode()
    assert message.body == record.body
    for name in (
        "body_crc",
        "queue_id",
        "flag",
        "queue_offset",
        "physical_offset",
        "born_timestamp",
        "store_timestamp",
        "reconsume_times",
        "prepared_offset",
    ):
        assert getattr(message, name) == getattr(record, name), name
    assert message.sys_flag == oracle.decode_record(data).sys_flag
    assert same_host(message.born_host, record.born_host)
    assert same_host(message.store_host, record.store_host)
    assert message.message_id == oracle.encode_message_id(record.store_host, record.physical_offset)
    expected = {name.decode(): value.decode() for name, value in oracle.decode_properties(record.properties)}
    assert message.properties == expected
    for name, value in expected.items():
        assert message.get_property(name) == value


@given(records(), st.data())
def test_a_record_with_a_flipped_byte_is_refused_or_reads_as_the_oracle_reads_it(
    record: oracle.Record, data: st.DataObject
) -> None:
    stored = bytearray(oracle.encode_record(record))
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    damaged = bytes(stored)
    try:
        message = Message.decode(damaged)
    except ValueError:
        return
    try:
        again = oracle.decode_record(damaged)
    except oracle.Malformed as bad:
        if str(bad).startswith("port"):  # the engine looks at a host when it is asked for
            return
        raise
    assert oracle.body_crc(message.body) == again.body_crc, (
        "a body that does not fit its checksum was let through"
    )
    assert (message.topic, message.body, message.queue_offset) == (
        again.topic.decode(errors="replace"),
        again.body,
        again.queue_offset,
    )


@given(st.binary(max_size=400))
def test_what_is_no_record_is_a_value_error(data: bytes) -> None:
    try:
        oracle.decode_record(data)
    except oracle.Malformed:
        with pytest.raises(ValueError, match=r"."):
            Message.decode(data)


@given(records(), st.integers(0, 90))
def test_a_record_cut_short_is_a_value_error(record: oracle.Record, cut: int) -> None:
    data = oracle.encode_record(record)
    with pytest.raises(ValueError, match=r"."):
        Message.decode(data[: len(data) - 1 - cut])


batch_entries = st.lists(
    st.builds(
        oracle.BatchEntry, flag=int32s, body=st.binary(max_size=100), properties=st.binary(max_size=100)
    ),
    max_size=6,
)


@pytest.mark.shows("CL-26")
@given(batch_entries)
def test_batches_have_the_same_bytes_and_read_back(entries: list[oracle.BatchEntry]) -> None:
    plain = [(entry.flag, entry.body, entry.properties) for entry in entries]
    assert encode_batch(plain) == oracle.encode_batch(entries)
    assert decode_batch(oracle.encode_batch(entries)) == plain


@given(st.binary(max_size=200))
def test_bytes_are_a_batch_for_both_or_for_neither(data: bytes) -> None:
    try:
        expected = [(entry.flag, entry.body, entry.properties) for entry in oracle.decode_batch(data)]
    except oracle.Malformed:
        with pytest.raises(ValueError, match=r"."):
            decode_batch(data)
    else:
        assert decode_batch(data) == expected


@pytest.mark.shows("CL-17")
@given(hosts, int64s)
def test_message_ids_are_the_same_and_come_apart_again(host: oracle.Host, offset: int) -> None:
    message_id = encode_message_id(written(host), offset)
    assert message_id == oracle.encode_message_id(host, offset)
    shown, found = decode_message_id(message_id)
    assert found == offset
    assert same_host(shown, host)
    assert decode_message_id(message_id.lower()) == (shown, found)


@given(st.one_of(st.text(), st.text("0123456789ABCDEFabcdefg", min_size=30, max_size=58)))
def test_what_is_no_message_id_is_a_value_error(text: str) -> None:
    try:
        host, offset = oracle.decode_message_id(text)
    except oracle.Malformed:
        assume(text.isprintable())
        with pytest.raises(ValueError, match=r"."):
            decode_message_id(text)
    else:
        shown, found = decode_message_id(text)
        assert found == offset
        assert same_host(shown, host)


@pytest.mark.shows("IX-04")
@given(texts)
def test_hashes_are_the_same(text: str) -> None:
    assert java_hash(text) == oracle.java_hash(text)


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "t" * 256},
        {"properties": b"x" * 32768},
        {"properties": b"x" * 32760, "property_crc": True},
        {"born_host": "127.0.0.1"},
        {"store_host": "localhost:80"},
        {"store_host": "::1:80"},
        {"store_host": "127.0.0.1:65536"},
    ],
)
def test_a_record_that_cannot_be_stored_is_a_value_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        encode_record(**{"topic": "T", "body": b"", **change})  # type: ignore[arg-type]


def test_the_oracle_has_every_field() -> None:
    """A field added to one side and forgotten on the other would never be compared."""
    fields = {field.name for field in dataclasses.fields(oracle.Record)}
    assert fields <= {name for name in dir(Message) if not name.startswith("_")}
