"""docs/spark.md: its blocks of Python and SQL are run, one after the other, as someone reads them."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

import tailfin
from tailfin.testing import Cluster, cluster
from tests.spark.sinking import visible
from tests.unit.examples.pages import ROOT, Block, blocks, replaced
from tests.unit.spark.arriving import readable

GUIDE = ROOT / "docs" / "spark.md"
BODY = '{"id": %d, "total": "12.50", "at": "2026-01-31T12:00:00Z", "lines": [{"sku": "pen", "n": 2}]}'
AVRO = {"id": "long", "note": ["null", "string"], "at": {"type": "long", "logicalType": "timestamp-millis"}}


def avro() -> bytes:
    """Return a record of the page's schema, as another implementation writes it."""
    fields = [{"name": name, "type": kind} for name, kind in AVRO.items()]
    out = io.BytesIO()
    sent = {"id": 777, "note": None, "at": datetime(2026, 1, 31, tzinfo=UTC)}
    fastavro.schemaless_writer(out, {"type": "record", "name": "Order", "fields": fields}, sent)
    return out.getvalue()


@pytest.fixture
def shop() -> Iterator[Cluster]:
    """Give a cluster with the topics of the page."""
    with cluster() as running:
        with (
            tailfin.AdminClient(nameserver=running.namesrv) as admin,
            tailfin.Producer("shop", nameserver=running.namesrv) as producer,
        ):
            for topic in ("orders", "payments", "sent"):
                admin.topics.create(topic, queues=2)
            orders = [
                tailfin.Message("orders", (BODY % number).encode(), tags="paid", keys=str(number))
                for number in range(40, 44)
            ]
            readable(admin, map(producer.send, [*orders, tailfin.Message("sent", avro())]))
        yield running


def in_order(page: Path, *languages: str) -> list[Block]:
    found = [block for language in languages for block in blocks(page, language)]
    return sorted(found, key=lambda block: block.line)


def test_the_blocks_of_the_guide_run_one_after_the_other(
    spark: SparkSession, shop: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instead = {
        "127.0.0.1:9876": shop.namesrv,
        "/backup/broker-a/store": str(shop.broker.settings.store.paths()["storePathRootDir"]),
        "/data/": f"{tmp_path}/",
    }
    names: dict[str, Any] = {}
    try:
        for block in in_order(GUIDE, "python", "sql"):
            if block.language == "python":
                block.run(names, instead)
            else:
                for statement in replaced(block.code, instead).split(";")[:-1]:
                    spark.sql(statement).show()
        names["query"].processAllAvailable()
    finally:
        for query in spark.streams.active:
            query.stop()
        if listener := names.get("listener"):
            spark.streams.removeListener(listener)
        spark.catalog.dropTempView("orders")

    assert spark.read.parquet(f"{tmp_path}/orders").count() == 4
    assert visible(shop.namesrv, "payments", least=4).total() == 4
    assert names["orders"].num_rows == 4  # the Arrow table
    assert names["messages"].where("topic = 'orders'").count() == 4
    printed = capsys.readouterr().out
    assert "|paid|    4|" in printed
    assert "|777|2026-01-31 00:00:00|" in printed
