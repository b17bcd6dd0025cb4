"""The columns of messages: the one list of their names and types, for Arrow and for Spark.

The engine builds exactly these. As far as Spark and Arrow are told every column may be null, which is what
Spark makes of a schema without further words; only `brokerName` (of store files), `tags` and `keys` ever are.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailfin.arrow.needing import pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {
    "topic": "string",
    "brokerName": "string",
    "queueId": "int",
    "queueOffset": "bigint",
    "msgId": "string",
    "offsetMsgId": "string",
    "tags": "string",
    "keys": "string",
    "body": "binary",
    "bornTimestamp": "timestamp",
    "storeTimestamp": "timestamp",
    "bornHost": "string",
    "storeHost": "string",
    "reconsumeTimes": "int",
    "sysFlag": "int",
    "flag": "int",
}
"""Spark's types of the columns that every table of messages has, in their order."""

PROPERTIES = {"properties": "map<string,string>"}
"""The column with all properties, for those who ask for it: it costs as much as all others together."""


def columns(*, properties: bool = False) -> dict[str, str]:
    """Return the columns and their types in Spark's words, in their order."""
    return COLUMNS | PROPERTIES if properties else COLUMNS


def spark_schema(*, properties: bool = False) -> str:
    """Return the schema as Spark's DDL text."""
    return ", ".join(f"{name} {kind}" for name, kind in columns(properties=properties).items())


def message_schema(*, properties: bool = False) -> "pa.Schema":
    """Return the schema for Arrow."""
    pa = pyarrow()
    kinds = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in columns(properties=properties).items()])


def chosen_columns(wanted: Iterable[str] | None, *, properties: bool = False) -> list[str]:
    """Return names of columns, all of which are some; without any, all of them."""
    known = columns(properties=properties)
    names = list(known if wanted is None else wanted)
    for name in names:
        if name in PROPERTIES and not properties:
            raise ValueError(f"column {name!r} is there with properties=True only")
        if name not in known:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(known)}")
    return names
