"""A topic as an Arrow table."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Unpack

from tailfin.arrow.needing import pyarrow
from tailfin.arrow.ranges import QueueRange, RangeReader
from tailfin.arrow.schema import chosen_columns, message_schema
from tailfin.client.consuming.subscriptions import Expression, Sql
from tailfin.client.options import ClientKeywords
from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

Place = Literal["earliest", "latest"] | datetime | Mapping[Queue, int]


def read_table(
    topic: str,
    *,
    start: Place = "earliest",
    end: Place = "latest",
    queues: Iterable[Queue] | None = None,
    expression: Expression = "*",
    properties: bool = False,
    columns: Iterable[str] | None = None,
    on_loss: Literal["fail", "skip"] = "fail",
    **options: Unpack[ClientKeywords],
) -> "pa.Table":
    """Read what a topic holds now into an Arrow table, for pandas, polars or DuckDB.

    Nobody's offset moves. Messages of one queue keep their order; `tailfin.arrow.schema` lists the columns.

    Args:
        topic: the topic.
        start: where to begin: `"earliest"`, the time of the first message as a datetime, or offsets by queue.
        end: where to end, likewise: before the first message of that time, or before that offset.
        queues: some queues of the topic; without it all.
        expression: `"*"`, tags separated by `||`, or a `tailfin.Sql`; the broker judges.
        properties: have a column with all properties.
        columns: names of the columns that are wanted, which saves making the others; without it all.
        on_loss: what happens when messages expire while they are read: fail, or skip them with a warning.
        **options: see `ClientOptions`.

    Raises:
        NoRoute: the topic does not exist.
        DataLost: messages expired before they were read.
        ImportError: pyarrow is not installed.

    Example:
        ```python
        orders = tailfin.read_table("orders", nameserver="127.0.0.1:9876").to_pandas()
        ```
    """
    with read_batches(
        topic,
        start=start,
        end=end,
        queues=queues,
        expression=expression,
        properties=properties,
        columns=columns,
        on_loss=on_loss,
        **options,
    ) as batches:
        return batches.read_all()


def read_batches(
    topic: str,
    *,
    start: Place = "earliest",
    end: Place = "latest",
    queues: Iterable[Queue] | None = None,
    expression: Expression = "*",
    properties: bool = False,
    columns: Iterable[str] | None = None,
    on_loss: Literal["fail", "skip"] = "fail",
    **options: Unpack[ClientKeywords],
) -> "pa.RecordBatchReader":
    """As `read_table`, batch by batch: for topics that do not fit into memory.

    Where the queues begin and end is found out at once, the messages are read as the batches are taken.

    Example:
        ```python
        batches = tailfin.read_batches("orders", nameserver="127.0.0.1:9876")
        duckdb.sql("SELECT tags, count(*) FROM batches GROUP BY tags")
        ```
    """
    arrow = pyarrow()
    names = chosen_columns(columns, properties=properties)
    known = message_schema(properties=properties)
    reader = RangeReader.of(**options)
    found = reader.queues(topic)
    ranges = [_range(reader, queue, start, end) for queue in _chosen(topic, found, queues)]
    text, sql = (expression.expression, True) if isinstance(expression, Sql) else (expression, False)

    def batches() -> "Iterator[pa.RecordBatch]":
        for part in ranges:
            for batch in reader.read(part, expression=text, sql=sql, columns=names, on_loss=on_loss):
                yield batch.select(names)

    schema = arrow.schema([known.field(name) for name in names])
    return arrow.RecordBatchReader.from_batches(schema, batches())


def _chosen(topic: str, found: list[Queue], wanted: Iterable[Queue] | None) -> list[Queue]:
    if wanted is None:
        return found
    chosen = [Queue(*queue) for queue in wanted]
    for queue in chosen:
        if queue not in found:
            raise ConfigError(
                f"topic {topic!r} has no {queue}; its queues are {', '.join(map(str, found)) or 'none'}"
            )
    return chosen


def _range(reader: RangeReader, queue: Queue, start: Place, end: Place) -> QueueRange:
    first, last = reader.first_offset(queue), reader.end_offset(queue)
    begin = _offset(reader, queue, "start", start, first, last)
    finish = _offset(reader, queue, "end", end, first, last)
    return QueueRange(*queue, begin, max(min(finish, last), begin))


def _offset(reader: RangeReader, queue: Queue, name: str, place: Place, first: int, last: int) -> int:
    if place == "earliest":
        return first
    if place == "latest":
        return last
    if isinstance(place, datetime):
        return reader.offset_at(queue, place)
    if isinstance(place, Mapping):
        return place.get(queue, first if name == "start" else last)
    raise ConfigError(f'{name} is "earliest", "latest", a datetime, or offsets by queue, not {place!r}')
