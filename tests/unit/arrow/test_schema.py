"""The columns: what the engine builds, Arrow is told and Spark expects are one list."""

import pyarrow as pa
import pytest

from tailfin.arrow.schema import check_columns, message_schema, spark_schema
from tailfin.store import OfflineLog, Store


def test_the_engine_builds_exactly_the_schema(tmp_path: object) -> None:
    with Store(str(tmp_path)) as store:
        store.append("T", b"x", tags="t", keys="k", properties={"a": "b"})
    log = OfflineLog(str(tmp_path))
    for properties in (False, True):
        found, _, damage = log.scan_arrow(0, log.end_of_files, properties=properties)
        assert found is not None
        assert damage is None
        batch = pa.record_batch(found)
        assert batch.schema.equals(message_schema(properties=properties), check_metadata=True)
        batch.validate(full=True)


def test_the_schema_in_sparks_words_names_every_column() -> None:
    text = spark_schema(properties=True)
    assert text.startswith("topic string, brokerName string, queueId int, queueOffset bigint, ")
    assert text.endswith(", flag int, properties map<string,string>")
    assert spark_schema() == text.removesuffix(", properties map<string,string>")


def test_columns_that_do_not_exist_are_refused() -> None:
    assert check_columns(["body", "topic"]) == ["body", "topic"]
    with pytest.raises(ValueError, match="no column 'bodi'; the columns are topic, brokerName"):
        check_columns(["bodi"])
    with pytest.raises(ValueError, match="with properties=True only"):
        check_columns(["properties"])
