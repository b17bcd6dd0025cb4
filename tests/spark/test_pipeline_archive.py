"""Topics archived as Parquet and replayed: every message once, in the order of its queue."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from tailfin.pipeline.archive.compacting import compact
from tailfin.pipeline.archive.layout import Layout
from tailfin.pipeline.archive.publishing import publish
from tailfin.pipeline.writers import only_writer
from tests.spark.conftest import Broker
from tests.spark.pipelines import Tailfin


@pytest.fixture
def tailfin_pipeline(tailfin_broker: Broker, capsys: pytest.CaptureFixture[str]) -> Tailfin:
    return Tailfin(capsys, tailfin_broker.namesrv)


def bodies(broker: Broker, root: Path) -> list[bytes]:
    return sorted(bytes(row.body) for row in broker.spark.read.parquet(str(root)).collect())


def test_an_archive_goes_on_where_it_ended_and_is_replayed_in_order(
    tailfin_broker: Broker, tailfin_pipeline: Tailfin, tmp_path: Path
) -> None:
    broker, root = tailfin_broker, tmp_path / "archive"
    topic, other = broker.topic(queues=2), broker.topic(queues=3)
    first = [b"%03d" % number for number in range(50)]
    broker.send(topic, first, TAGS="paid", KEYS="k1 k2", colour="blue")

    done = tailfin_pipeline.json("archive", topic, "--to", root)
    assert (done["messages"], bodies(broker, root)) == (50, first)
    more = [b"%03d" % number for number in range(50, 60)]
    broker.send(topic, more)
    text = tailfin_pipeline.run("archive", topic, "--to", root)
    assert text == f"10 messages in 1 batch to {root}\n"
    assert bodies(broker, root) == first + more
    assert tailfin_pipeline.json("archive", topic, "--to", root)["messages"] == 0
    assert [each.name for each in (root / f"topic={topic}").iterdir()] == [f"date={datetime.now(UTC).date()}"]

    assert (
        tailfin_pipeline.run("replay", root, "-t", topic, "--to", other, "--rate", 1000)
        == "60 messages sent\n"
    )
    copies = list(broker.admin.messages.read(other))
    originals = {each.message_id: each for each in broker.admin.messages.read(topic)}
    assert len(copies) == 60
    for queue_id in (0, 1):
        found = [each for each in copies if each.queue_id == queue_id]
        offsets = [originals[str(each.property("REPLAYED_MSG_ID"))].queue_offset for each in found]
        assert offsets == sorted(offsets) == list(range(30))
    blue = next(each for each in copies if each.body == b"000")
    assert (blue.tags, blue.keys, blue.property("colour")) == ("paid", ["k1", "k2"], "blue")

    assert tailfin_pipeline.json("replay", root, "--to", other, "--skip", 55) == {"sent": 60, "total": 60}
    assert len(list(broker.admin.messages.read(other))) == 65


def test_a_batch_that_comes_again_is_published_once(tailfin_broker: Broker, tmp_path: Path) -> None:
    layout, frame = Layout.at(str(tmp_path / "archive")), rows(tailfin_broker, 4)

    def count() -> int:
        return tailfin_broker.spark.read.parquet(str(layout.root)).count()

    publish(layout, frame, 0)
    publish(layout, frame, 0)  # killed before Spark noted that the batch is done
    assert count() == 4

    # Killed while files are moved: some are in their days, others in the staging folder.
    frame.repartition(4).write.partitionBy("topic", "date").parquet(str(layout.staging / "1"))
    staged = sorted(layout.staging.glob("1/topic=*/date=*/*.parquet"))
    assert len(staged) > 1
    staged[0].rename(next(layout.root.glob("topic=*/date=*")) / f"batch-00000001-{staged[0].name}")
    publish(layout, frame, 1)
    assert count() == 8

    # Killed while files are written: there is no _SUCCESS.
    frame.write.partitionBy("topic", "date").parquet(str(layout.staging / "2"))
    (layout.staging / "2" / "_SUCCESS").unlink()
    publish(layout, frame, 2)
    assert (count(), layout.last_published()) == (12, 2)


def test_small_files_of_a_day_that_is_over_become_one(tailfin_broker: Broker, tmp_path: Path) -> None:
    layout, frame = Layout.at(str(tmp_path / "archive")), rows(tailfin_broker, 6)
    for batch in range(3):
        publish(layout, frame.repartition(2), batch)
    (day,) = layout.days()
    before = day.files()
    after_the_day = datetime.combine(day.date, datetime.min.time(), UTC) + timedelta(days=1, hours=2)
    assert compact(tailfin_broker.spark, layout, now=after_the_day - timedelta(hours=2)) == []

    day.fresh.mkdir()  # what a killed run left
    (done,) = compact(tailfin_broker.spark, layout, now=after_the_day)

    assert (done.files_before, done.files_after) == (len(before), 1) == (6, 1)
    found = tailfin_broker.spark.read.parquet(str(layout.root)).collect()
    assert sorted(row.queueOffset for row in found) == sorted(list(range(6)) * 3)
    assert sorted(each.name for each in day.replaced.glob("*.parquet")) == [each.name for each in before]
    assert compact(tailfin_broker.spark, layout, now=after_the_day) == []


def rows(broker: Broker, count: int) -> DataFrame:
    return broker.spark.range(count).selectExpr(
        "'t' as topic", "'b' as brokerName", "0 as queueId", "id as queueOffset", "date '2026-01-31' as date"
    )


def test_mistakes_of_archive_and_replay_are_told(
    tailfin_broker: Broker, tailfin_pipeline: Tailfin, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    topic = tailfin_broker.topic()
    run = tailfin_pipeline.run
    assert "name the topics to archive, or give --pattern" in run("archive", "--to", root, code=2)
    assert "s3a://a/b is not a folder of this machine" in run("archive", topic, "--to", "s3a://a/b", code=2)
    with only_writer(root):
        assert f"somebody else writes to {root}" in run("archive", topic, "--to", root, code=2)
    tailfin_broker.send(topic, [b"a"])
    run("archive", topic, "--to", root)
    shutil.rmtree(root / "_checkpoint")
    assert "_checkpoint is gone" in run("archive", topic, "--to", root, code=2)
    missing = run("archive", "nowhere-at-all", "--to", tmp_path / "b", code=1)
    assert "nowhere-at-all" in missing
    assert len(missing.splitlines()) == 1, missing

    assert "cannot be read: Path does not exist" in run("replay", tmp_path / "nowhere", code=2)
    tailfin_broker.spark.range(3).write.parquet(str(tmp_path / "numbers"))
    assert "holds no archived messages: there is no column topic" in run(
        "replay", tmp_path / "numbers", code=2
    )
    assert "take times" in run("replay", root, "--from", "first", code=2)
    gone = run("replay", root, "--to", "gone", code=1)
    assert "'gone'" in gone
    assert len(gone.splitlines()) == 1, gone
