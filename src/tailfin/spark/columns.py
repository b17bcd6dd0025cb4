"""The columns of a DataFrame: which are a message's, and which are decoded from its body. No I/O."""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tailfin.arrow import schema as message
from tailfin.config.setting import ConfigError
from tailfin.spark.body_formats import body_format
from tailfin.spark.options import SourceOptions

BODY = "body"


@dataclass(frozen=True)
class Layout:
    """How batches of messages become batches of the DataFrame.

    Attributes:
        schema: what Spark expects, exactly.
        decoded: what bodies are decoded to; None: they are not.
        as_struct: whether what is decoded is one column, `body`.
    """

    schema: pa.Schema
    decoded: pa.StructType | None
    as_struct: bool = False

    def of_messages(self) -> list[str]:
        """Return the columns that are messages' own."""
        return [name for name in self.schema.names if self._is_own(name)]

    def _is_own(self, name: str) -> bool:
        return name in _MESSAGE.names and not (self.as_struct and name == BODY)

    def batch(self, messages: pa.RecordBatch, values: pa.StructArray | None) -> pa.RecordBatch:
        """Return messages, and what their bodies were decoded to, as Spark expects them."""
        arrays = [self._column(each, messages, values) for each in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, wanted: pa.Field, messages: pa.RecordBatch, values: pa.StructArray | None) -> pa.Array:
        if self._is_own(wanted.name):
            return messages.column(wanted.name)
        assert values is not None
        # Flattened, a field of a body that is null is null as well.
        return values if self.as_struct else values.flatten()[values.type.get_field_index(wanted.name)]


_MESSAGE = message.message_schema(properties=True)


def ddl(options: SourceOptions) -> str:
    """Return the columns that a DataFrame has when its user names none by `.schema()`."""
    if options.format == "raw":
        return message.spark_schema(properties=options.includeProperties)
    own = message.columns(properties=options.includeProperties)
    return ", ".join(
        [*(f"{name} {kind}" for name, kind in own.items() if name != BODY), body_format(options).ddl()]
    )


def layout(struct: StructType, options: SourceOptions) -> Layout:
    """Return how the columns that Spark expects are made.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """
    schema = arrow_schema(struct)
    doubled = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if doubled:
        raise ConfigError(
            f"the body has fields with names of a message's columns: {', '.join(doubled)}; choose columns "
            "with .schema('..., body struct<...>') instead"
        )
    decodes = options.format != "raw"
    decoded = []
    for each in schema:
        if each.name not in _MESSAGE.names:
            if not decodes:
                raise ConfigError(f"{_unknown(each.name)}; format=json or avro decodes bodies to columns")
            decoded.append(each)
        elif each.type != _MESSAGE.field(each.name).type:
            if each.name == BODY and decodes and pa.types.is_struct(each.type) and not decoded:
                body_format(options).check(each.type)
                _check_rest(schema)
                return Layout(schema, each.type, as_struct=True)
            raise _wrong_type(each)
    if not decoded:
        return Layout(schema, None)
    values = pa.struct(decoded)
    body_format(options).check(values)
    return Layout(schema, values)


def check_own(struct: StructType) -> list[str]:
    """Return the names of columns, all of which are a message's own.

    Raises:
        ConfigError: there is no such column, or it has another type, or there is none at all.
    """
    schema = arrow_schema(struct)
    if not schema.names:
        raise ConfigError(f"no column is chosen; a message has {', '.join(_MESSAGE.names)}")
    for each in schema:
        if each.name not in _MESSAGE.names:
            raise _unknown(each.name)
        if each.type != _MESSAGE.field(each.name).type:
            raise _wrong_type(each)
    return struct.fieldNames()


def _unknown(name: str) -> ConfigError:
    return ConfigError(f"a message has no column {name!r}, only {', '.join(_MESSAGE.names)}")


def _wrong_type(given: pa.Field) -> ConfigError:
    return ConfigError(
        f"column {given.name} is {_MESSAGE.field(given.name).type}, not {given.type}; cast it in a query"
    )


def _check_rest(schema: pa.Schema) -> None:
    for each in schema:
        if each.name not in _MESSAGE.names:
            raise ConfigError(f"{each.name}: beside body struct<...> there are only a message's own columns")


def arrow_schema(struct: StructType) -> pa.Schema:
    """Return the Arrow schema that PySpark compares batches with."""
    try:
        return to_arrow_schema(struct, timezone="UTC")
    except TypeError:  # before 4.2 this is what it always does
        return to_arrow_schema(struct)
