"""Bodies of Avro to columns, decoded by the engine."""

import pyarrow as pa
from pyspark.sql import types

from tailfin._engine import AvroDecoder
from tailfin.config.setting import ConfigError

TIME = pa.time64("ns")
_NAMES = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    TIME: "time(6)",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


class AvroBodies:
    """Bodies that were written with one Avro schema.

    Raises:
        ConfigError: it is none, or has what Spark has no type for.
    """

    def __init__(self, schema: str, framing: str) -> None:
        try:
            self._decoder = AvroDecoder(schema, framing)
        except ValueError as error:
            raise ConfigError(f"schema is no Avro schema that columns can be made of: {error}") from None
        self._fields = {each.name: each for each in pa.schema(self._decoder)}
        if not hasattr(types, "TimeType"):
            for each in self._fields.values():
                _check_no_times(each.name, each.type)

    def ddl(self) -> str:
        """Return the columns that the schema has."""
        return ", ".join(f"`{each.name}` {_ddl(each.type)}" for each in self._fields.values())

    def check(self, wanted: pa.StructType) -> None:
        """Raise ConfigError for a column that the schema has not, or has with another type."""
        for each in wanted:
            known = self._fields.get(each.name)
            if known is None:
                raise ConfigError(
                    f"the Avro schema has no field {each.name!r}, only {', '.join(self._fields)}"
                )
            if each.type != known.type:
                raise ConfigError(
                    f"column {each.name} is {_ddl(known.type)} by the Avro schema; cast it in a query"
                )

    def decode(self, bodies: pa.BinaryArray, wanted: pa.StructType) -> tuple[pa.StructArray, dict[int, str]]:
        """Decode bodies; see `BodyFormat`."""
        rows, bad = self._decoder.decode(bodies)
        values = pa.array(rows)
        chosen = [values.field(each.name) for each in wanted]
        return pa.StructArray.from_arrays(chosen, fields=list(wanted), mask=values.is_null()), dict(bad)


def _ddl(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_ddl(kind.key_type)},{_ddl(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'`{each.name}`:{_ddl(each.type)}' for each in kind)}>"
    return _NAMES[kind]


def _check_no_times(name: str, kind: pa.DataType) -> None:
    if kind == TIME:
        raise ConfigError(
            f"field {name}: this version of Spark has no times of a day: leave time-millis or time-micros "
            "out of the schema, and the column is a number"
        )
    for index in range(kind.num_fields):
        _check_no_times(name, kind.field(index).type)
