"""What Spark is asked to do for a pipeline, and what is said of its progress."""

from tailfin.pipeline import plan
from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.progress import Done, Progress
from tailfin.pipeline.sentences import sentence
from tests.unit.pipeline.files import WHOLE, pipeline


def readings(found: Pipeline, *, streaming: bool) -> list[plan.Reading]:
    return [plan.reading(each, found.cluster, streaming=streaming) for each in found.sources]


def test_a_topic_is_read_with_the_options_of_the_source() -> None:
    orders, customers = readings(pipeline(WHOLE), streaming=True)

    assert (orders.format, orders.streaming) == ("rocketmq", True)
    assert orders.options == {
        "nameServer": "10.0.0.1:9876",
        "topic": "orders,orders-old",
        "startingOffsets": "earliest",
        "subExpression": "paid || shipped",
        "includeProperties": "true",
        "maxOffsetsPerTrigger": "1000",
        "failOnDataLoss": "false",
    }
    assert (customers.format, customers.paths, customers.streaming) == (
        "parquet",
        ("/data/customers",),
        False,
    )


def test_a_preview_reads_a_stream_as_a_batch() -> None:
    orders, _ = readings(pipeline(WHOLE), streaming=False)
    assert not orders.streaming
    assert orders.watermark is None
    assert orders.options["startingOffsets"] == "earliest"


def test_times_patterns_and_expressions_are_told_to_the_source() -> None:
    found = pipeline(
        "sources: {a: {pattern: 'o.*', from: 2026-01-31T00:00:00Z, to: 1769900000000, filter: price > 10}}\n"
        "sinks: {s: {from: a, console: true}}"
    )
    (only,) = readings(found, streaming=False)
    assert only.options == {
        "topicPattern": "o.*",
        "startingTimestamp": "2026-01-31T00:00:00Z",
        "endingTimestamp": "1769900000000",
        "subExpression": "price > 10",
        "expressionType": "SQL92",
    }


def test_store_files_are_read_without_a_cluster() -> None:
    found = pipeline(
        "nameserver: a:1\nsources: {a: {store: /data/store, topics: [b, c], properties: true}}\n"
        "sinks: {s: {from: a, console: true}}"
    )
    (only,) = readings(found, streaming=False)
    assert (only.format, only.paths) == ("rocketmq-store", ("/data/store",))
    assert only.options == {"topic": "b,c", "includeProperties": "true"}


def test_each_sink_of_a_stream_has_a_checkpoint_of_its_own() -> None:
    found = pipeline(WHOLE)
    copies, files = (plan.writing(each, found) for each in found.sinks)

    assert copies.options == {
        "nameServer": "10.0.0.1:9876",
        "topic": "paid-orders",
        "deliveryGuarantee": "exactly-once",
    }
    assert (copies.reads, copies.checkpoint) == ("joined", "/data/checkpoint/copies")
    assert (files.format, files.options, files.partition_by) == ("parquet", {"path": "/data/paid"}, ("keys",))
    assert files.checkpoint == "/data/checkpoint/files"


def test_a_batch_may_overwrite_and_print() -> None:
    found = pipeline(
        "sources: {a: {topic: b}}\n"
        "sinks: {s: {from: a, delta: /x, mode: overwrite}, t: {from: a, console: true, rows: 3}}"
    )
    files, printed = (plan.writing(each, found) for each in found.sinks)
    assert (files.format, files.mode, files.checkpoint) == ("delta", "overwrite", None)
    assert (printed.format, printed.options["numRows"]) == ("console", "3")


def test_a_batch_is_told_in_a_line() -> None:
    batch = Progress("paid", 7, 1200, 30, 0.5)
    assert batch.line == "paid: batch 7: 1,200 rows, 2,400 rows/s, 30 behind, 0.50 s"
    assert Progress("paid", 7, 0, None, 0.0).line == "paid: batch 7: 0 rows, 0 rows/s, 0.00 s"
    assert Done("paid").after(batch).line == "paid: 1,200 rows in 1 batch, 0.50 s"


def test_what_spark_says_becomes_a_sentence() -> None:
    parse = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'frm'. SQLSTATE: 42601 (line 1, pos 9)\n\n== "
    "SQL ==\n..."
    assert sentence(parse) == "Syntax error at or near 'frm'"
    java = (
        "An error occurred while calling o681.save.\n"
        ": org.apache.spark.SparkException: [DATA_SOURCE_NOT_FOUND] Failed to find delta. SQLSTATE: 1\n"
        "\tat org.apache.spark"
    )
    assert sentence(java) == "Failed to find delta"
    python = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed when ...: Traceback (most recent call last):\n"
        '  File "a.py", line 1, in b\n'
        "tailfin.client.errors.NoRoute: no route for topic 'x': it does not exist\n SQLSTATE: 38000"
    )
    assert sentence(python) == "no route for topic 'x': it does not exist"
    masked = (
        f"{python}\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File\nUnboundLocalError: cannot access local variable 'reader'"
    )
    assert sentence(masked) == "no route for topic 'x': it does not exist"
