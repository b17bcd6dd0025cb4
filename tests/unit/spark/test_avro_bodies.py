"""Avro to columns, against another implementation."""

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from fastavro.schema import fingerprint, to_parsing_canonical_form
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types

from tailfin._engine import AvroDecoder
from tailfin.config.setting import ConfigError
from tailfin.spark.avro_bodies import AvroBodies

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": ["int", "null"]}],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "left out of the canonical form",
    "fields": [
        {"name": "id", "type": "long", "default": 0},
        {"name": "paid", "type": ["null", "boolean"], "aliases": ["settled"]},
        {"name": "weight", "type": "float"},
        {"name": "length", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "SENT"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "key", "type": {"type": "fixed", "name": "Key", "size": 4}},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "first", "type": ["null", "shop.Line"]},
        {"name": "notes", "type": {"type": "map", "values": ["null", "string"]}},
        {"name": "grid", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "here", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {
            "name": "tax",
            "type": {
                "type": "fixed",
                "name": "Tax",
                "size": 16,
                "logicalType": "decimal",
                "precision": 38,
                "scale": 10,
            },
        },
    ],
}
SCHEMA = fastavro.parse_schema(ORDER)


def written(*records: dict[str, Any]) -> list[bytes]:
    bodies = []
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, SCHEMA, record)
        bodies.append(out.getvalue())
    return bodies


def whole(schema: object) -> pa.StructType:
    return pa.struct(list(pa.schema(AvroDecoder(json.dumps(schema)))))


def decoded(
    given: list[bytes], schema: object = ORDER, framing: str = "plain"
) -> tuple[list[Any], dict[int, str]]:
    bodies = AvroBodies(json.dumps(schema), framing)
    wanted = whole(schema)
    bodies.check(wanted)
    values, bad = bodies.decode(pa.array(given, pa.binary()), wanted)
    values.validate(full=True)
    return values.to_pylist(), bad


texts = st.text("aé😀\0", max_size=6)
lines = st.fixed_dictionaries({"sku": texts, "n": st.none() | st.integers(-(2**31), 2**31 - 1)})
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
instants = moments.map(lambda moment: moment.replace(tzinfo=UTC))
states = st.sampled_from(["NEW", "SENT"])
orders = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "paid": st.none() | st.booleans(),
        "weight": st.floats(width=32, allow_nan=False),
        "length": st.floats(allow_nan=False),
        "raw": st.binary(max_size=200),
        "state": states,
        "before": st.none() | states,
        "key": st.binary(min_size=4, max_size=4),
        "lines": st.lists(lines, max_size=4),
        "first": st.none() | lines,
        "notes": st.dictionaries(texts, st.none() | texts, max_size=3),
        "grid": st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3), max_size=3),
        "day": st.dates(date(1800, 1, 1), date(2200, 1, 1)),
        "ms": instants.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)),
        "us": instants,
        "here": moments,
        "clock": st.times().map(lambda when: when.replace(microsecond=when.microsecond // 1000 * 1000)),
        "price": st.decimals(-(10**9), 10**9, places=2),
        "tax": st.decimals(-(10**20), 10**20, places=10),
    }
)


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(orders, max_size=6))
def test_records_are_decoded_as_another_implementation_writes_them(given: list[dict[str, Any]]) -> None:
    found, bad = decoded(written(*given))

    assert not bad
    assert [{**row, "notes": dict(row["notes"])} for row in found] == given


@settings(deadline=None, database=None, max_examples=60)
@given(orders, st.data())
def test_a_body_that_is_cut_or_spoilt_is_found_among_good_ones(
    order: dict[str, Any], data: st.DataObject
) -> None:
    (good,) = written(order)
    cut = good[: data.draw(st.integers(0, len(good) - 1))]

    found, bad = decoded([good, cut, good, good + b"\0", good])

    assert list(bad) == [1, 3]
    assert bad[3] == "1 bytes are left behind the datum"
    assert found[1] is found[3] is None
    assert found[0] == found[2] == found[4]


@pytest.mark.parametrize("framing", ["plain", "single-object", "confluent"])
def test_framing_is_checked_and_taken_off(framing: str) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    crc = bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))
    prefix = {"plain": b"", "single-object": b"\xc3\x01" + crc, "confluent": b"\0\0\0\1\2"}
    other = next(bytes for name, bytes in prefix.items() if name not in (framing, "plain"))

    found, bad = decoded([prefix[framing] + b"\x0e", other + b"\x0e"], schema, framing)

    assert found[0] == {"id": 7}
    assert list(bad) == [1]


def test_a_single_object_of_another_schema_is_bad() -> None:
    crc = bytes.fromhex(fingerprint(to_parsing_canonical_form(ORDER), "CRC-64-AVRO"))
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}

    _, bad = decoded([b"\xc3\x01" + crc + b"\x0e"], schema, "single-object")

    assert bad[0].startswith(f"it was written with a schema of fingerprint {crc[::-1].hex()};")


@settings(deadline=None, database=None, max_examples=10)
@given(orders)
def test_the_fingerprint_of_a_large_schema_is_the_one_that_others_find(order: dict[str, Any]) -> None:
    crc = bytes.fromhex(fingerprint(to_parsing_canonical_form(ORDER), "CRC-64-AVRO"))

    _, bad = decoded([b"\xc3\x01" + crc + written(order)[0]], ORDER, "single-object")

    assert not bad


def test_columns_are_those_of_spark() -> None:
    ddl = AvroBodies(json.dumps(ORDER), "plain").ddl()

    assert ddl.split(", `") == [
        "`id` bigint",
        "paid` boolean",
        "weight` float",
        "length` double",
        "raw` binary",
        "state` string",
        "before` string",
        "key` binary",
        "lines` array<struct<`sku`:string,`n`:int>>",
        "first` struct<`sku`:string,`n`:int>",
        "notes` map<string,string>",
        "grid` array<array<int>>",
        "day` date",
        "ms` timestamp",
        "us` timestamp",
        "here` timestamp_ntz",
        "clock` time(6)",
        "price` decimal(12,2)",
        "tax` decimal(38,10)",
    ]


def test_only_the_columns_that_are_wanted_are_given() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}],
    }
    bodies = AvroBodies(json.dumps(schema), "plain")
    wanted = pa.struct([("b", pa.string())])
    bodies.check(wanted)

    values, bad = bodies.decode(pa.array([b"", b"\2\2x", b"\2"], pa.binary())[1:], wanted)

    assert values.to_pylist() == [{"b": "x"}, None]
    assert bad == {1: "field b: the body ends before it does"}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (pa.struct([("c", pa.int32())]), "the Avro schema has no field 'c', only a"),
        (pa.struct([("a", pa.int64())]), "column a is int by the Avro schema; cast it in a query"),
    ],
)
def test_columns_that_the_schema_has_not_are_refused(wanted: pa.StructType, says: str) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}

    with pytest.raises(ConfigError, match=says):
        AvroBodies(json.dumps(schema), "plain").check(wanted)


def test_a_schema_that_cannot_be_columns_is_refused_with_its_field() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["int", "string"]}]}

    with pytest.raises(ConfigError, match=r"schema is no Avro schema .*: field a: a union of several types"):
        AvroBodies(json.dumps(schema), "plain")


def test_times_of_a_day_are_refused_where_spark_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(types, "TimeType")

    with pytest.raises(ConfigError, match="field clock: this version of Spark has no times of a day"):
        AvroBodies(json.dumps(ORDER), "plain")


def test_no_bodies_are_no_rows_and_what_is_no_array_of_binary_is_refused() -> None:
    assert decoded([]) == ([], {})
    with pytest.raises(TypeError, match="an array of binary is wanted, not Utf8"):
        AvroDecoder(json.dumps(ORDER)).decode(pa.array(["a"]))
    with pytest.raises(TypeError, match="an array of binary is wanted, not list"):
        AvroDecoder(json.dumps(ORDER)).decode([b"a"])
    with pytest.raises(ValueError, match="there is no framing"):
        AvroDecoder(json.dumps(ORDER), "registry")


def test_times_are_kept_to_the_microsecond() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "t", "type": {"type": "long", "logicalType": "time-micros"}}],
    }
    assert decoded([b"\x02"], schema)[0] == [{"t": time(0, 0, 0, 1)}]


def test_decimals_keep_their_scale() -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    record = {"type": "record", "name": "R", "fields": [{"name": "d", "type": schema}]}

    assert decoded([b"\x04\xff\x85"], record)[0] == [{"d": Decimal("-1.23")}]
