"""Bodies of JSON to columns: a whole batch at a time, by pyarrow's parser."""

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tailfin.config.setting import ConfigError

# Each body is put into an object of its own: whatever stands in it, it is one row or an error.
_OPEN, _CLOSE = b'{"v":', b"}"


class JsonBodies:
    """Bodies that are JSON objects; `schema` has the columns as Spark reads them, or nothing."""

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def ddl(self) -> str:
        """Return the columns that were given."""
        if not self._schema:
            raise ConfigError(
                "format=json needs the columns of the body: "
                "option('schema', 'id bigint, name string'), or .schema(...)"
            )
        return self._schema

    def check(self, wanted: pa.StructType) -> None:
        """Raise ConfigError for a column that JSON cannot be decoded to."""
        for each in wanted:
            _check_type(each.name, each.type)

    def decode(self, bodies: pa.BinaryArray, wanted: pa.StructType) -> tuple[pa.StructArray, dict[int, str]]:
        """Decode bodies: a field that one does not have is null, one that is not wanted is left out."""
        bad: dict[int, str] = {}
        parts = _decoded(bodies, wanted, _parsed_type(wanted), 0, bad)
        return pa.concat_arrays(parts) if parts else pa.array([], wanted), bad


def _check_type(name: str, kind: pa.DataType) -> None:
    if pa.types.is_map(kind):
        raise ConfigError(f"column {name}: JSON is not decoded to maps; name the fields: {name} struct<...>")
    for index in range(kind.num_fields):
        _check_type(f"{name}.{kind.field(index).name}", kind.field(index).type)


def _decoded(
    bodies: pa.BinaryArray, wanted: pa.StructType, parsed: pa.StructType, first: int, bad: dict[int, str]
) -> list[pa.StructArray]:
    if not len(bodies):
        return []
    try:
        return [_parse(bodies, parsed).cast(wanted, safe=False)]
    except pa.ArrowInvalid as error:
        if len(bodies) == 1:
            bad[first] = _reason(error)
            return [pa.nulls(1, wanted)]
    half = len(bodies) // 2
    return [
        *_decoded(bodies[:half], wanted, parsed, first, bad),
        *_decoded(bodies[half:], wanted, parsed, first + half, bad),
    ]


def _parse(bodies: pa.BinaryArray, parsed: pa.StructType) -> pa.StructArray:
    bodies.cast(pa.string())  # the parser takes any bytes for text
    whole = pa.ListArray.from_arrays(pa.array([0, len(bodies)], pa.int32()), bodies)
    joined = pc.binary_join(whole, pa.scalar(_CLOSE + b"\n" + _OPEN, pa.binary()))
    text = b"".join((_OPEN, joined[0].as_buffer(), _CLOSE))
    table = pj.read_json(
        io.BytesIO(text),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([("v", parsed)]), unexpected_field_behavior="ignore"
        ),
    )
    if table.num_rows != len(bodies):
        raise pa.ArrowInvalid("more than one JSON object")
    found = table.column("v").combine_chunks()
    return found if isinstance(found, pa.StructArray) else pa.concat_arrays(found.chunks)


def _parsed_type(wanted: pa.DataType) -> pa.DataType:
    """Return what is parsed before it becomes the wanted type: the parser takes dates for numbers."""
    if pa.types.is_date(wanted):
        return pa.timestamp("us")
    if pa.types.is_struct(wanted):
        fields = (wanted.field(index) for index in range(wanted.num_fields))
        return pa.struct([pa.field(each.name, _parsed_type(each.type)) for each in fields])
    if pa.types.is_list(wanted):
        return pa.list_(_parsed_type(wanted.value_type))
    return wanted


def _reason(error: pa.ArrowInvalid) -> str:
    text = str(error).removeprefix("JSON parse error: ").partition(" in row")[0]
    return text.replace("Column(/v/", "Column(").replace("Column(/v)", "the body")
