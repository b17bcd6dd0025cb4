"""Pipeline files: what they say, and everything that can be wrong with them, each with its place."""

import pytest

from tailfin.pipeline.model import FileSink, ParquetSource, TopicSink, TopicSource, Trigger, Watermark
from tests.unit.pipeline.files import WHOLE, changed, pipeline, problems


def test_a_whole_file_is_read() -> None:
    found = pipeline(WHOLE)

    assert (found.name, found.checkpoint) == ("paid-orders", "/data/checkpoint")
    assert found.trigger == Trigger(streaming=True, every_s=10.0)
    assert found.spark == {"spark.sql.shuffle.partitions": "4"}
    orders, customers = found.sources
    assert isinstance(orders, TopicSource)
    assert orders.topics == ("orders", "orders-old")
    assert (orders.start, orders.tags, orders.properties) == ("earliest", "paid || shipped", True)
    assert orders.options == {"maxOffsetsPerTrigger": "1000", "failOnDataLoss": "false"}
    assert orders.watermark == Watermark("storeTimestamp", 600.0)
    assert isinstance(customers, ParquetSource)
    copies, files = found.sinks
    assert isinstance(copies, TopicSink)
    assert copies.exactly_once
    assert isinstance(files, FileSink)
    assert files.partition_by == ("keys",)


def test_steps_are_ordered_by_what_they_read() -> None:
    assert [(each.name, sorted(each.reads)) for each in pipeline(WHOLE).steps] == [
        ("paid", ["orders"]),
        ("joined", ["customers", "paid"]),
    ]


def test_a_file_without_a_name_has_its_own() -> None:
    assert pipeline(changed("name: paid-orders\n", "")).name == "p"


def test_a_secret_comes_from_the_environment() -> None:
    found = pipeline(changed("name: paid-orders\n", "access_key: me\nsecret_key: $SECRET\n"))
    assert (found.cluster.access_key, found.cluster.secret_key) == ("me", "s3cret")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: paid-orders", "nam: x", "1:1: unknown key 'nam' in the pipeline; did you mean 'name'?"),
        (
            "    from: earliest",
            "    form: earliest",
            "6:5: unknown key 'form' in source 'orders'; did you mean 'from'?",
        ),
        (
            "from: earliest",
            "from: yesterday",
            "6:11: from of source 'orders': 'yesterday' is no place in a topic: use earliest, "
            "latest, a time as "
            "2026-01-31T12:00:00Z, or milliseconds since the epoch",
        ),
        ("from: earliest", "to: latest", "6:5: a stream has no end: leave `to` out, or say `trigger: batch`"),
        (
            "maxOffsetsPerTrigger: 1000",
            "maxOffsetPerTrigger: 1000",
            "9:5: source 'orders': there is no option 'maxOffsetPerTrigger': did you mean "
            "'maxOffsetsPerTrigger'?",
        ),
        (
            "maxOffsetsPerTrigger: 1000",
            "maxOffsetsPerTrigger: many",
            "9:5: source 'orders': maxOffsetsPerTrigger must be a whole number, not 'many'",
        ),
        (
            "    parquet: /data/customers",
            "    store: /x\n    options: {onDamge: skip}",
            "13:5: source 'customers': there is no option 'onDamge': did you mean 'onDamage'?",
        ),
        ("    properties: true", "    filter: a > 1", "8:5: source 'orders' has both tags and filter"),
        (
            "properties: true",
            "properties: perhaps",
            "8:17: properties of source 'orders' is true or false, not 'perhaps'",
        ),
        (
            "topic: [orders, orders-old]",
            "topic: []",
            "5:12: topic of source 'orders' is an empty list: name at least one",
        ),
        (
            "topic: [orders, orders-old]",
            "topic: {a: b}",
            "5:12: topic of source 'orders' is a text or a list of texts",
        ),
        (
            "    topic: [orders, orders-old]",
            "    topic: a\n    store: /x",
            "6:5: source 'orders' has both topic and store",
        ),
        (
            "    parquet: /data/customers",
            "    parqet: /x",
            "12:5: unknown key 'parqet' in source 'customers'; did you mean 'parquet'?",
        ),
        (
            "    parquet: /data/customers",
            "    options: {}",
            "12:5: source 'customers' needs one of topic, pattern, store, parquet",
        ),
        (
            "    parquet: /data/customers",
            "    parquet:",
            "12:13: parquet of source 'customers' is empty: give it a value, or leave it out",
        ),
        (
            "delay: 10m",
            "delay: soon",
            "10:48: delay of watermark of source 'orders': 'soon' is no duration: use 10s, 5m, 2h or 500ms",
        ),
        (", delay: 10m", "", "10:16: watermark of source 'orders' needs delay"),
        (
            "    from orders\n",
            "    from ordrs\n",
            "17:10: step 'paid' reads 'ordrs', which is no source or step; did you mean 'orders'?",
        ),
        (
            "    from orders\n",
            "    from customers_of_the_catalog\n",
            "17:10: step 'paid' reads 'customers_of_the_catalog', which is no source or step; a "
            "table of a catalog "
            "is named with its database",
        ),
        ("    from orders\n", "    from (orders\n", "17:10: step 'paid': this '(' is never closed"),
        (
            "where tags = 'paid'",
            "where tags = 'paid",
            "18:18: step 'paid': the text that begins here never ends",
        ),
        (
            "    from: joined",
            "    from: jioned",
            "21:11: there is no source or step 'jioned'; did you mean 'joined'?",
        ),
        ("    from: joined\n", "", "21:5: sink 'copies' needs `from`: the source or step it writes"),
        (
            "    parquet: /data/paid",
            "    delta: /x\n    parquet: /y",
            "26:5: sink 'files' has both parquet and delta",
        ),
        (
            "exactly_once: true",
            "exactly_once: 1",
            "23:19: exactly_once of sink 'copies' is true or false, not '1'",
        ),
        ("    exactly_once: true", "    rows: 5", "23:5: 'rows' does not belong to sink 'copies'"),
        (
            "    exactly_once: true",
            "    options: {retrys: 3}",
            "23:5: sink 'copies': there is no option 'retrys': did you mean 'retries'?",
        ),
        ("partition_by: keys", "mode: overwrite", "27:5: a stream appends: it cannot overwrite"),
        ("partition_by: keys", "output: complete", "27:5: Parquet files are only appended to by a stream"),
        (
            "partition_by: keys",
            "output: compleat",
            "27:13: output of sink 'files' is one of append, update, complete, not 'compleat'; did "
            "you mean 'complete'?",
        ),
        (
            "checkpoint: /data/checkpoint\n",
            "",
            "28:1: a stream keeps how far it is in a folder: say `checkpoint: PATH`",
        ),
        (
            "trigger: {every: 10s}",
            "trigger: once",
            "29:10: trigger of the pipeline is one of batch, available_now, every: 10s, not 'once'",
        ),
        (
            "trigger: {every: 10s}",
            "trigger: {evry: 10s}",
            "29:11: unknown key 'evry' in trigger; did you mean 'every'?",
        ),
        (
            "trigger: {every: 10s}",
            "trigger: {}",
            "29:10: trigger is one of batch, available_now, or `every: 10s`",
        ),
        (
            "trigger: {every: 10s}",
            "trigger: batch",
            "28:1: a batch keeps no checkpoint: leave it out, or say `trigger: available_now`",
        ),
        (
            "spark: {spark.sql.shuffle.partitions: 4}",
            "spark: 4",
            "30:8: spark of the pipeline is a mapping, not a single value",
        ),
        ("  joined: select", "  orders: select", "14:3: the name 'orders' is taken already, by 'orders'"),
        (
            "  joined: select",
            "  joined-ones: select",
            "14:3: 'joined-ones' cannot be a name: use letters, digits and _, and begin with a letter",
        ),
        (
            "select * from paid join customers using (keys)",
            "[1]",
            "14:11: step 'joined' is a query, as `joined: select * from orders`",
        ),
        (
            "nameserver: 10.0.0.1:9876",
            "access_key: me",
            "2:1: access_key and secret_key belong together: give both, or none",
        ),
        (
            "nameserver: 10.0.0.1:9876",
            "access_key: $ME",
            "2:13: the environment variable ME of access_key is not set",
        ),
        ("name: paid-orders", "name: a\nname: b", "2:1: 'name' is given twice; the first time in line 1"),
        (
            "name: paid-orders",
            "name: [a",
            "2:11: this is no YAML: while parsing a flow sequence, expected ',' or ']', but got ':'",
        ),
        ("name: paid-orders", "? [a]\n: b", "1:3: a key is a word, not a list or mapping"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_column(old: str, new: str, said: str) -> None:
    assert said in problems(changed(old, new))


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = changed("from orders\n", "from ordrs\n").replace("form: x", "").replace("nameserver", "namserver")
    assert problems(
        text.replace("console", "x").replace("/data/paid\n    partition_by", "/x\n    partion_by")
    ) == [
        "2:1: unknown key 'namserver' in the pipeline; did you mean 'nameserver'?",
        "17:10: step 'paid' reads 'ordrs', which is no source or step; did you mean 'orders'?",
        "27:5: unknown key 'partion_by' in sink 'files'; did you mean 'partition_by'?",
    ]


def test_steps_that_read_each_other_are_told() -> None:
    text = changed("from orders\n", "from joined\n")
    assert problems(text) == [
        "14:11: step 'joined' reads itself, by way of joined, paid",
        "15:9: step 'paid' reads itself, by way of joined, paid",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: the file is empty: it has sources, steps and sinks"),
        ("- a", "1:1: a pipeline is a mapping: it has sources, steps and sinks"),
        ("name: a", "1:1: there are no sources: a pipeline reads from at least one"),
        (
            "name: \x00",
            "1:1: this is no YAML: unacceptable character #x0000: special characters are not allowed",
        ),
        ("sources: [a]", "1:10: sources is a mapping of names, not a list"),
        ("sources: {a: b}", "1:14: source 'a' is a mapping with one of topic, pattern, store, parquet"),
        (
            "sources: {a: {topic: b}}\nsinks: {c: d}",
            "2:12: sink 'c' is a mapping with `from` and one of topic, parquet, delta, console",
        ),
        ("sources: {a: {topic: b}}", "1:1: there are no sinks: a pipeline writes to at least one"),
        (
            "sources: {a: {parquet: b}}\nsinks: {c: {from: a, console: true}}\ncheckpoint: "
            "d\ntrigger: available_now",
            "4:1: nothing here streams: only topics do; say `trigger: batch`",
        ),
        (
            "sources: {a: {topic: b}}\nsinks: {c: {from: a, console: true, output: update}}",
            "2:37: output is for streams; a batch writes all of its rows",
        ),
        (
            "sources: {a: {topic: b}}\nsinks: {c: {from: a, console: false}}",
            "2:22: console is true, or the sink is left out",
        ),
        (
            "sources: {a: {topic: b}}\nsinks: {c: {from: a, console: true, rows: 0}}",
            "2:43: rows of sink 'c' is a whole number above 0, not '0'",
        ),
        ("sources: {a: {topic: b, options: [c]}}", "1:34: options of source 'a' is a mapping, not a list"),
        ("sources: {a: {topic: b, options: {c: [d]}}}", "1:38: c in options of source 'a' is a single value"),
    ],
)
def test_a_file_that_is_no_pipeline_is_told(text: str, said: str) -> None:
    assert any(each.startswith(said) for each in problems(text)), problems(text)
