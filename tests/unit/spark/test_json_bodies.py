"""JSON to columns, against Python's own parser."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailfin.config.setting import ConfigError
from tailfin.spark.json_bodies import JsonBodies

ORDER = pa.struct([("id", pa.int64()), ("name", pa.string()), ("paid", pa.bool_())])


def decoded(bodies: list[bytes], wanted: pa.StructType = ORDER) -> tuple[list[object], dict[int, str]]:
    values, bad = JsonBodies("").decode(pa.array(bodies, pa.binary()), wanted)
    assert values.type == wanted
    return values.to_pylist(), bad


texts = st.text('aé"\\\n😀\0{}', max_size=8)
orders = st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "name": st.none() | texts,
        "paid": st.none() | st.booleans(),
        "other": st.lists(st.integers() | texts, max_size=3),
    },
)


@settings(deadline=None, database=None, max_examples=50)
@given(st.lists(orders, max_size=8), st.sampled_from([None, 2]), st.booleans())
def test_objects_are_decoded_as_python_decodes_them(
    given: list[dict[str, object]], indent: int | None, ascii_only: bool
) -> None:
    bodies = [json.dumps(each, indent=indent, ensure_ascii=ascii_only).encode() for each in given]

    assert decoded(bodies) == (
        [{name: each.get(name) for name in ("id", "name", "paid")} for each in given],
        {},
    )


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b" ",
        b"{",
        b"7",
        b"[1]",
        b'{"id": 1}{"id": 2}',
        b'{"id": 1}\n{"id": 2}',
        b'{"id": "1"}',
        b'{"id": 1.5}',
        b'{"id": 99999999999999999999}',
        b'{"name": 1}',
        b'{"name": "\xff"}',
        b'{"id": 1, "id": 2}',
        b'{"id": 1}}\n{"v":{"id": 2}',
        b'{"id": 1}, "v": {"id": 2}',
    ],
)
def test_a_body_that_is_something_else_is_found_among_good_ones(bad: bytes) -> None:
    bodies = [b'{"id": %d}' % number for number in range(20)]
    bodies[13] = bad

    values, reasons = decoded(bodies)

    assert list(reasons) == [13]
    assert reasons[13]
    assert values[13] is None
    rest = [{"id": number, "name": None, "paid": None} for number in range(20) if number != 13]
    assert values[:13] + values[14:] == rest


def test_reasons_name_the_field_as_the_user_knows_it() -> None:
    assert decoded([b'{"id": "1"}'])[1] == {0: "Column(id) changed from number to string"}


def test_times_dates_decimals_lists_and_structs_are_decoded() -> None:
    wanted = pa.struct(
        [
            ("at", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("days", pa.list_(pa.date32())),
            ("price", pa.decimal128(10, 2)),
            ("to", pa.struct([("city", pa.string())])),
        ]
    )
    body = {
        "at": "2026-01-31T12:00:00+01:00",
        "day": "2026-01-31",
        "days": ["2026-02-01"],
        "price": 1.25,
        "to": {"city": "Kyoto"},
    }

    ((row,), bad) = decoded([json.dumps(body).encode()], wanted)

    assert not bad
    assert isinstance(row, dict)
    assert row["at"] == datetime(2026, 1, 31, 11, tzinfo=UTC)
    assert (row["day"], row["days"]) == (date(2026, 1, 31), [date(2026, 2, 1)])
    assert (str(row["price"]), row["to"]) == ("1.25", {"city": "Kyoto"})


def test_maps_are_refused_before_anything_is_read() -> None:
    with pytest.raises(ConfigError, match=r"column a\.b: JSON is not decoded to maps"):
        JsonBodies("").check(pa.struct([("a", pa.struct([("b", pa.map_(pa.string(), pa.string()))]))]))
