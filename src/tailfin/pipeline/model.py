"""What a pipeline file says: sources, steps, sinks and how they are run. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailfin.pipeline.nodes import Scalar
from tailfin.pipeline.problems import Place


@dataclass(frozen=True, slots=True)
class Watermark:
    """How late rows may come, by one of their times."""

    column: str
    delay_s: float


@dataclass(frozen=True, slots=True)
class Source:
    """Rows under a name: what a source of any kind has.

    Attributes:
        name: the name of its view.
        place: where it stands in the file.
        options: further options of Spark's reader.
        watermark: how late rows may come, where steps group by time.
    """

    name: str
    place: Place
    options: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    watermark: Watermark | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSource(Source):
    """Messages of topics.

    Attributes:
        topics: their names; none when there is a pattern.
        pattern: a regular expression of topics' names.
        start: `earliest`, `latest`, or a time; None: as Spark's habit is, earliest for batches, latest for
            streams.
        end: the same, for batches.
        tags: those to read, as `paid || shipped`; None: all.
        filter: an SQL92 expression that brokers filter by.
        properties: whether there is a column of properties.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: str | None = None
    end: str | None = None
    tags: str | None = None
    filter: str | None = None
    properties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSource(Source):
    """Messages in store directories."""

    paths: tuple[str, ...]
    topics: tuple[str, ...] = ()
    properties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSource(Source):
    """Rows of Parquet files."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A view made by a query."""

    name: str
    sql: Scalar
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sink:
    """Where rows go: what a sink of any kind has.

    Attributes:
        name: its name.
        place: where it stands in the file.
        reads: the source or step whose rows it gets.
        output: Spark's output mode of a stream.
        options: further options of Spark's writer.
    """

    name: str
    place: Place
    reads: str
    output: str = field(default="append", kw_only=True)
    options: Mapping[str, str] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSink(Sink):
    """Rows become messages; without a topic of its own each row says where it goes."""

    topic: str | None = None
    exactly_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSink(Sink):
    """Rows become files of a table: `parquet` or `delta`."""

    format: str
    path: str
    partition_by: tuple[str, ...] = ()
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSink(Sink):
    """Rows are printed."""

    rows: int = 20


@dataclass(frozen=True, slots=True)
class Trigger:
    """When rows are read: at once as a batch, or by a stream.

    Attributes:
        streaming: whether it is a stream.
        every_s: seconds between the beginnings of a stream's batches; None: it reads what there is, and ends.
    """

    streaming: bool = False
    every_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How topics are reached."""

    nameserver: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    tls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline, checked.

    Attributes:
        name: its name, which Spark shows.
        cluster: how topics are reached.
        sources: in the order of the file.
        steps: each after those it reads.
        sinks: in the order of the file.
        checkpoint: the folder where a stream keeps how far it is.
        trigger: when rows are read.
        spark: settings of Spark.
    """

    name: str
    cluster: Cluster
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    sinks: tuple[Sink, ...]
    checkpoint: str | None
    trigger: Trigger
    spark: Mapping[str, str]
