"""The columns: what the engine builds, Arrow is told and Spark expects are one list."""

import pyarrow as pa
import pytest

from tailfin.arrow.schema import chosen_columns, columns, message_schema, spark_schema
from tailfin.store import OfflineLog, Store


def test_the_engine_builds_exactly_the_schema(tmp_path: object) -> None:
    with Store(str(tmp_path)) as store:
        store.append("T", b"x", tags="t", keys="k", properties={"a": "b"})
    log = OfflineLog(str(tmp_path))
    for properties in (False, True):
        found, _, damage = log.scan_arrow(0, log.end_of_files, columns=list(columns(properties=properties)))
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


def test_the_engine_builds_no_column_that_was_not_asked_for(tmp_path: object) -> None:
    with Store(str(tmp_path)) as store:
        store.append("T", b"x")
    log = OfflineLog(str(tmp_path))
    found, _, _ = log.scan_arrow(0, log.end_of_files, columns=["body", "topic"])
    assert found is not None
    assert pa.record_batch(found).to_pylist() == [{"topic": "T", "body": b"x"}]
    with pytest.raises(ValueError, match="there is no column 'bodi'"):
        log.scan_arrow(0, log.end_of_files, columns=["bodi"])
    with pytest.raises(ValueError, match="no column is chosen"):
        log.scan_arrow(0, log.end_of_files, columns=[])


def test_columns_that_do_not_exist_are_refused() -> None:
    assert chosen_columns(["body", "topic"]) == ["body", "topic"]
    assert chosen_columns(None, properties=True) == list(columns(properties=True))
    with pytest.raises(ValueError, match="no column 'bodi'; the columns are topic, brokerName"):
        chosen_columns(["bodi"])
    with pytest.raises(ValueError, match="with properties=True only"):
        chosen_columns(["properties"])
