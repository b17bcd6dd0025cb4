"""The columns that a sink takes: checked when a query is planned. No I/O."""

import difflib

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from tailfin.config.setting import ConfigError
from tailfin.spark.sink.options import SinkOptions

BODY, TOPIC = "body", "topic"
TEXT: tuple[type[DataType], ...] = (StringType,)
NUMBER: tuple[type[DataType], ...] = (IntegerType,)

COLUMNS: dict[str, tuple[tuple[type[DataType], ...], str]] = {
    BODY: ((StringType, BinaryType), "string or binary"),
    TOPIC: (TEXT, "string"),
    "tags": (TEXT, "string"),
    "keys": (TEXT, "string"),
    "shardingKey": (TEXT, "string"),
    "brokerName": (TEXT, "string"),
    "queueId": (NUMBER, "int"),
    "delayLevel": (NUMBER, "int"),
    "deliverAt": ((TimestampType,), "timestamp"),
    "properties": ((MapType,), "map<string,string>"),
}
"""Columns by name, with the types that each may have."""

DELAYED = ("delayLevel", "deliverAt")


def check_columns(schema: StructType, options: SinkOptions) -> None:
    """Raise ConfigError unless rows of this schema can be sent."""
    known = {name.lower(): name for name in COLUMNS}
    given: set[str] = set()
    for field in schema.fields:
        name = known.get(field.name.lower())
        if name is None:
            raise ConfigError(_unknown(field.name))
        if name in given:
            raise ConfigError(f"there are two columns {name!r}: drop one")
        given.add(name)
        _check_type(name, field.dataType)
    if BODY not in given:
        raise ConfigError("there is no column 'body': select what is to be sent as body, string or binary")
    if TOPIC not in given and not options.topic:
        raise ConfigError("nothing says where rows go: give the option 'topic', or a column 'topic'")
    if "brokerName" in given and "queueId" not in given:
        raise ConfigError("a column 'brokerName' needs a column 'queueId': both say which queue a row is for")
    late = [name for name in DELAYED if name in given]
    if late and options.is_exactly_once:
        raise ConfigError(
            f"column {late[0]!r} cannot be had with deliveryGuarantee=exactly-once: "
            "half messages of RocketMQ know no delay"
        )


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in COLUMNS], 1)
    names = {each.lower(): each for each in COLUMNS}
    hint = f"did you mean {names[near[0]]!r}?" if near else f"drop it, or choose of {', '.join(COLUMNS)}"
    return f"a message has no column {name!r}: {hint}"


def _check_type(name: str, kind: DataType) -> None:
    kinds, said = COLUMNS[name]
    fits = isinstance(kind, kinds)
    if isinstance(kind, MapType):
        fits = fits and isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType)
    if not fits:
        raise ConfigError(f"column {name!r} is {said}, not {kind.simpleString()}: cast it")
