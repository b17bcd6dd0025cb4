"""Spark imports every source at the first use of any: ours must cost nothing then."""

from pathlib import Path

from tests.unit.test_import import look


def test_finding_the_source_loads_neither_the_engine_nor_a_client(tmp_path: Path) -> None:
    found = look("import pyspark.sql.datasource, pyspark_rocketmq", tmp_path)

    assert isinstance(found["modules"], list)
    ours = [name for name in found["modules"] if name.partition(".")[0] in ("tailfin", "pyspark_rocketmq")]
    assert ours == ["pyspark_rocketmq", "tailfin", "tailfin.spark", "tailfin.spark.source"]
    assert "pyarrow.json" not in found["modules"]


def test_a_task_that_decodes_nothing_loads_nothing_but_a_reader(tmp_path: Path) -> None:
    found = look("import tailfin.spark.batch, tailfin.spark.stream", tmp_path)

    assert isinstance(found["modules"], list)
    unneeded = ("tailfin.admin", "tailfin.spark.asking", "tailfin.client.blocking.producer", "pyarrow.json")
    assert not set(unneeded) & set(found["modules"])
    assert "pyarrow.compute" not in found["modules"]
