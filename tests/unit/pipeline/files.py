"""Pipeline files of tests."""

import pytest

from tailfin.pipeline.model import Pipeline
from tailfin.pipeline.problems import PipelineError
from tailfin.pipeline.reading import parse

WHOLE = """\
name: paid-orders
nameserver: 10.0.0.1:9876
sources:
  orders:
    topic: [orders, orders-old]
    from: earliest
    tags: paid || shipped
    properties: true
    options: {maxOffsetsPerTrigger: 1000, failOnDataLoss: false}
    watermark: {column: storeTimestamp, delay: 10m}
  customers:
    parquet: /data/customers
steps:
  joined: select * from paid join customers using (keys)
  paid: |
    select keys, cast(body as string) as body
    from orders
    where tags = 'paid'
sinks:
  copies:
    from: joined
    topic: paid-orders
    exactly_once: true
  files:
    from: paid
    parquet: /data/paid
    partition_by: keys
checkpoint: /data/checkpoint
trigger: {every: 10s}
spark: {spark.sql.shuffle.partitions: 4}
"""


def pipeline(text: str) -> Pipeline:
    """Read a file that is right."""
    return parse("p.yaml", text, {"SECRET": "s3cret"})


def problems(text: str) -> list[str]:
    """Read a file that is wrong; return what is said of it, without the file's name."""
    with pytest.raises(PipelineError) as caught:
        pipeline(text)
    return [str(each).removeprefix("p.yaml:") for each in caught.value.problems]


def changed(old: str, new: str) -> str:
    """Return the whole file with one thing changed."""
    assert WHOLE.count(old) == 1, old
    return WHOLE.replace(old, new)
