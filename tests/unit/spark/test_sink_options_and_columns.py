import pytest
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tailfin.config.setting import ConfigError
from tailfin.spark.sink.columns import COLUMNS, check_columns
from tailfin.spark.sink.options import SinkOptions
from tailfin.spark.sink.writing import Sink

GIVEN = {"nameserver": "127.0.0.1:9876", "topic": "T"}
TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "map<string,string>": MapType(StringType(), StringType()),
    "map<string,int>": MapType(StringType(), IntegerType()),
}


def columns(text: str) -> StructType:
    """Read names and types; Spark's own parser needs a running Spark."""
    pairs = [each.split() for each in text.split(", ")]
    return StructType([StructField(name, TYPES[kind]) for name, kind in pairs])


BODY = columns("body string")


def test_every_column_is_taken_in_letters_of_either_case() -> None:
    ddl = (
        "BODY binary, topic string, tags string, keys string, shardingkey string, brokerName string, "
        "queueId int, delayLevel int, deliverAt timestamp, properties map<string,string>"
    )
    assert len(columns(ddl).fields) == len(COLUMNS)
    check_columns(columns(ddl), SinkOptions.parse(GIVEN))


@pytest.mark.parametrize(
    ("ddl", "sentence"),
    [
        ("value string", "a message has no column 'value': drop it, or choose of body, topic"),
        ("bdy string", "a message has no column 'bdy': did you mean 'body'?"),
        ("body int", "column 'body' is string or binary, not int: cast it"),
        ("body string, queueId bigint", "column 'queueId' is int, not bigint: cast it"),
        ("body string, properties map<string,int>", "column 'properties' is map<string,string>, not map<"),
        ("body string, deliverAt string", "column 'deliverAt' is timestamp, not string"),
        ("tags string", "there is no column 'body'"),
        ("body string, Body string", "there are two columns 'body': drop one"),
        ("body string, brokerName string", "'brokerName' needs a column 'queueId'"),
    ],
)
def test_a_column_that_cannot_be_sent_is_named_in_a_sentence(ddl: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        check_columns(columns(ddl), SinkOptions.parse(GIVEN))


def test_something_has_to_say_where_rows_go() -> None:
    options = SinkOptions.parse({"nameServer": "127.0.0.1:9876"})
    with pytest.raises(ConfigError, match="give the option 'topic', or a column 'topic'"):
        check_columns(BODY, options)
    check_columns(columns("body string, topic string"), options)


def test_delays_and_exactly_once_exclude_each_other() -> None:
    options = SinkOptions.parse({**GIVEN, "deliveryGuarantee": "exactly-once"})
    with pytest.raises(ConfigError, match="'delayLevel' cannot be had with deliveryGuarantee=exactly-once"):
        check_columns(columns("body string, delayLevel int"), options)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"deliveryGarantee": "exactly-once"}, "there is no option 'deliveryGarantee': did you mean"),
        ({"deliveryGuarantee": "twice"}, "at-least-once, exactly-once"),
        ({"writeId": "x"}, "writeId needs deliveryGuarantee=exactly-once"),
        ({"group": ""}, "group cannot be empty"),
        ({"decisionTopic": "", "deliveryGuarantee": "exactly-once"}, "decisionTopic cannot be empty"),
        ({"compression": "rar"}, "zlib, lz4, zstd, none"),
    ],
)
def test_an_option_that_cannot_be_is_named_in_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        SinkOptions.parse({**GIVEN, **given})


def test_what_spark_adds_for_itself_is_no_option_of_the_sink() -> None:
    assert SinkOptions.parse({**GIVEN, "checkpointLocation": "/somewhere"}).topic == "T"


def test_a_topic_is_not_overwritten() -> None:
    with pytest.raises(ConfigError, match="only ever appended to"):
        Sink.of(GIVEN, BODY, overwrite=True, streams=False)


def test_a_write_is_named_and_a_stream_is_not() -> None:
    once = {**GIVEN, "deliveryGuarantee": "exactly-once", "writeId": "monday"}
    assert Sink.of(once, BODY, overwrite=False, streams=False).write_id == "monday"
    with pytest.raises(ConfigError, match="a stream is known by its checkpoint"):
        Sink.of(once, BODY, overwrite=False, streams=True)
    first, second = (Sink.of(GIVEN, BODY, overwrite=False, streams=False) for _ in range(2))
    assert first.write_id != second.write_id
