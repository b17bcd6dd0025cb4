"""Pipeline files on a real Spark, from and to topics of a real cluster."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailfin.cli import main
from tailfin.pipeline import running
from tailfin.pipeline.reading import parse
from tailfin.testing import until
from tests.spark.conftest import Broker

if TYPE_CHECKING:
    from tailfin.pipeline.progress import Progress

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return its exit code, and what it prints."""

    def command(*words: object) -> tuple[int, str, str]:
        code = main(["pipeline", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def written(folder: Path, text: str) -> Path:
    file = folder / "p.yaml"
    file.write_text(text)
    return file


def test_a_batch_joins_a_topic_with_parquet_and_writes_files(
    tailfin_broker: Broker, tmp_path: Path, run: Run
) -> None:
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, [b"paid %d" % number for number in range(10)], TAGS="paid")
    tailfin_broker.send(topic, [b"open"], TAGS="open")
    spark = tailfin_broker.spark
    spark.sql("select 'paid' as tag, 'done' as meaning").write.parquet(str(tmp_path / "words"))
    file = written(
        tmp_path,
        f"""
        sources:
          orders: {{topic: {topic}}}
          words: {{parquet: {tmp_path}/words}}
        steps:
          explained: select cast(body as string) as text, meaning from orders join words on tags = tag
          short: select upper(text) as text, meaning from explained
        sinks:
          files: {{from: short, parquet: {tmp_path}/out, partition_by: meaning}}
        """,
    )

    code, out, err = run("run", file, "-n", tailfin_broker.namesrv, "--json")
    assert (code, json.loads(out or "{}").get("stopped")) == (0, False), err
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.text for row in rows) == [f"PAID {number}" for number in range(10)]
    assert {row.meaning for row in rows} == {"done"}

    code, out, _ = run("run", file, "-n", tailfin_broker.namesrv)
    assert (code, out.partition(",")[0]) == (0, "files: 10 rows in 1 batch")

    code, out, _ = run("preview", file, "-n", tailfin_broker.namesrv, "--step", "short", "--rows", 3)
    assert out.splitlines()[:2] == ["short:", "TEXT    MEANING"]
    assert len(out.splitlines()) == 5
    code, out, _ = run(
        "preview", file, "-n", tailfin_broker.namesrv, "--step", "orders", "--rows", 1, "--json"
    )
    assert json.loads(out)["orders"][0]["topic"] == topic
    assert run("check", file, "--spark", "-n", tailfin_broker.namesrv) == (
        0,
        f"{file}: a batch: 2 sources, 2 steps, 1 sink\n",
        "",
    )


def test_a_stream_goes_on_from_its_checkpoint_and_ends_when_asked(
    tailfin_broker: Broker, tmp_path: Path, run: Run
) -> None:
    topic, copies = tailfin_broker.topic(), tailfin_broker.topic()
    text = f"""
        nameserver: {tailfin_broker.namesrv}
        sources:
          orders: {{topic: {topic}, from: earliest}}
        steps:
          bodies: select cast(body as string) as text from orders
          messages: select upper(text) as body, 'copied' as tags from bodies
        sinks:
          files: {{from: bodies, parquet: {tmp_path}/out}}
          copies: {{from: messages, topic: {copies}, exactly_once: true}}
        checkpoint: {tmp_path}/checkpoint
        trigger: TRIGGER
        """

    def texts() -> list[str]:
        rows = tailfin_broker.spark.read.schema("text string").parquet(str(tmp_path / "out")).collect()
        return sorted(row.text for row in rows)

    tailfin_broker.send(topic, [b"a", b"b"])
    once = written(tmp_path, text.replace("TRIGGER", "available_now"))
    code, out, _ = run("run", once)
    assert (code, out.partition(",")[0]) == (0, "files: 2 rows in 1 batch")
    assert texts() == ["a", "b"]
    assert out.splitlines()[1].startswith("copies: 2 rows in 1 batch")
    assert run("run", once)[1].startswith("files: 0 rows in 0 batches")

    tailfin_broker.send(topic, [b"c"])
    stop = threading.Event()
    shown: list[Progress] = []
    pipeline = parse("p.yaml", text.replace("TRIGGER", "{every: 200ms}"))

    def follow() -> None:
        try:
            until(lambda: sum(each.rows for each in shown) >= 2, timeout=60)
            tailfin_broker.send(topic, [b"d"])
            until(lambda: sum(each.rows for each in shown) >= 4, timeout=60)
        finally:
            stop.set()

    # Spark knows its session in this thread only, and looks for a sink's format there.
    thread = threading.Thread(target=follow)
    thread.start()
    ended = running.run(tailfin_broker.spark, pipeline, stop, shown.append)
    thread.join(60)
    assert len(ended) == 2
    assert {each.behind for each in shown} == {0}
    assert texts() == ["a", "b", "c", "d"]
    found = list(tailfin_broker.admin.messages.read(copies))
    assert sorted(each.body for each in found) == [b"A", b"B", b"C", b"D"]
    assert {each.tags for each in found} == {"copied"}


def test_what_spark_finds_wrong_is_told_with_its_place(
    tailfin_broker: Broker, tmp_path: Path, run: Run
) -> None:
    topic = tailfin_broker.topic()
    file = written(
        tmp_path,
        f"""\
nameserver: {tailfin_broker.namesrv}
sources:
  orders: {{topic: {topic}}}
  words: {{parquet: {tmp_path}/nowhere}}
steps:
  one: |
    select topic,
      boddy
    from orders
  two: select topic frm orders where
sinks:
  out: {{from: one, console: true}}
""",
    )

    code, out, _ = run("check", "--spark", file)

    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith(f"{file}:4:10: source 'words': Path does not exist")
    assert lines[1].startswith(
        f"{file}:8:7: step 'one': A column, variable, or function parameter with name `boddy`"
    )
    assert lines[2].startswith(f"{file}:10:")
    assert len(lines) == 3

    code, out, err = run("run", file)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"tailfin: {lines[0]}"


def test_delta_that_is_not_installed_is_told(tailfin_broker: Broker, tmp_path: Path, run: Run) -> None:
    tailfin_broker.spark.range(1).write.parquet(str(tmp_path / "in"))
    text = f"sources: {{a: {{parquet: {tmp_path}/in}}}}\nsinks: {{b: {{from: a, delta: {tmp_path}/out}}}}"
    code, _, err = run("run", written(tmp_path, text))
    assert (code, err.partition(":")[0]) == (1, "tailfin")
    assert "b: Spark has no Delta: pip install delta-spark" in err
    assert len(err.splitlines()) == 1


def test_ctrl_c_lets_the_batch_finish_and_the_next_run_goes_on(
    tailfin_broker: Broker, tmp_path: Path
) -> None:
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, [b"a", b"b"])
    file = written(
        tmp_path,
        f"""
        nameserver: {tailfin_broker.namesrv}
        sources: {{orders: {{topic: {topic}, from: earliest}}}}
        steps: {{bodies: select cast(body as string) as text from orders}}
        sinks: {{files: {{from: bodies, parquet: {tmp_path}/out}}}}
        checkpoint: {tmp_path}/checkpoint
        trigger: {{every: 100ms}}
        spark: {{spark.ui.enabled: false, spark.driver.host: 127.0.0.1}}
        """,
    )
    command = [sys.executable, "-m", "tailfin", "pipeline", "run", str(file), "--master", "local[2]"]
    # A session of its own, as a terminal gives it: Ctrl-C is heard by all processes of the group.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stderr is not None
            said = iter(process.stderr.readline, "")
            assert any(line.startswith("files: batch 0: 2 rows") for line in said)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate()
        finally:
            process.kill()
    assert (process.returncode, out.partition(",")[0]) == (0, "files: 2 rows in 1 batch"), err

    tailfin_broker.send(topic, [b"c"])
    text = file.read_text().replace("{every: 100ms}", "available_now")
    done = running.run(tailfin_broker.spark, parse("p.yaml", text), threading.Event(), lambda batch: None)
    assert [each.rows for each in done] == [1]
    rows = tailfin_broker.spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.text for row in rows) == ["a", "b", "c"]


def test_a_topic_that_is_not_there_and_a_cluster_that_does_not_answer_are_told(
    tailfin_broker: Broker, tmp_path: Path, run: Run
) -> None:
    file = written(tmp_path, "sources: {a: {topic: nowhere}}\nsinks: {b: {from: a, console: true}}")
    code, _, err = run("run", file, "-n", tailfin_broker.namesrv)
    assert code in (1, 2)
    assert "nowhere" in err
    assert len(err.splitlines()) == 1, err
    code, _, err = run("run", file, "-n", "127.0.0.1:1")
    assert code in (1, 2)
    assert "127.0.0.1:1" in err
    assert len(err.splitlines()) == 1, err
