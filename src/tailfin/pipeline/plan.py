"""What Spark is asked to do for a pipeline: formats and options. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass

from tailfin.pipeline.model import (
    Cluster,
    ConsoleSink,
    FileSink,
    ParquetSource,
    Pipeline,
    Sink,
    Source,
    StoreSource,
    TopicSink,
    TopicSource,
    Watermark,
)

ROCKETMQ = "rocketmq"
STORE = "rocketmq-store"


@dataclass(frozen=True, slots=True)
class Reading:
    """A source as Spark reads it.

    Attributes:
        name: the name of its view.
        format: Spark's name of the source.
        options: its options.
        paths: what is given to `load`.
        streaming: whether it is read as a stream.
        watermark: how late rows may come.
    """

    name: str
    format: str
    options: Mapping[str, str]
    paths: tuple[str, ...]
    streaming: bool
    watermark: Watermark | None


@dataclass(frozen=True, slots=True)
class Writing:
    """A sink as Spark writes it.

    Attributes:
        name: the sink's name.
        reads: the view whose rows it gets.
        format: Spark's name of the sink.
        options: its options.
        mode: how a batch is saved, or a stream's output mode.
        partition_by: columns that become folders.
        checkpoint: the folder where a stream keeps how far it is.
    """

    name: str
    reads: str
    format: str
    options: Mapping[str, str]
    mode: str
    partition_by: tuple[str, ...] = ()
    checkpoint: str | None = None


def connection(cluster: Cluster) -> dict[str, str]:
    """Return the options that tell how topics are reached."""
    found = {
        "nameServer": cluster.nameserver,
        "accessKey": cluster.access_key,
        "secretKey": cluster.secret_key,
        "tls": "true" if cluster.tls else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def reading(source: Source, cluster: Cluster, *, streaming: bool) -> Reading:
    """Return how Spark reads a source."""
    options: dict[str, str] = {}
    paths: tuple[str, ...] = ()
    match source:
        case TopicSource():
            options = {**connection(cluster), **_topic_options(source)}
            format = ROCKETMQ
        case StoreSource():
            format, paths = STORE, source.paths
            if source.topics:
                options["topic"] = ",".join(source.topics)
            if source.properties:
                options["includeProperties"] = "true"
        case ParquetSource():
            format, paths = "parquet", source.paths
        case _:
            raise TypeError(f"no such source: {source!r}")
    return Reading(
        source.name,
        format,
        {**options, **source.options},
        paths,
        streaming=streaming and isinstance(source, TopicSource),
        watermark=source.watermark if streaming else None,
    )


def _topic_options(source: TopicSource) -> dict[str, str]:
    options = {"topicPattern": source.pattern} if source.pattern else {"topic": ",".join(source.topics)}
    options |= _edge("starting", source.start)
    options |= _edge("ending", source.end)
    if source.tags:
        options["subExpression"] = source.tags
    if source.filter:
        options |= {"subExpression": source.filter, "expressionType": "SQL92"}
    if source.properties:
        options["includeProperties"] = "true"
    return options


def _edge(which: str, place: str | None) -> dict[str, str]:
    if place is None:
        return {}
    return {f"{which}{'Offsets' if place in ('earliest', 'latest') else 'Timestamp'}": place}


def topic_options(sink: TopicSink) -> dict[str, str]:
    """Return the options of a topic that is written, without those that tell how it is reached."""
    options = {"topic": sink.topic} if sink.topic is not None else {}
    if sink.exactly_once:
        options["deliveryGuarantee"] = "exactly-once"
    return {**options, **sink.options}


def writing(sink: Sink, pipeline: Pipeline) -> Writing:
    """Return how Spark writes a sink."""
    streaming = pipeline.trigger.streaming
    mode = sink.output if streaming else "append"
    checkpoint = f"{pipeline.checkpoint}/{sink.name}" if streaming else None
    partition_by: tuple[str, ...] = ()
    match sink:
        case TopicSink():
            format, options = ROCKETMQ, {**connection(pipeline.cluster), **topic_options(sink)}
        case FileSink():
            format, options, partition_by = sink.format, {"path": sink.path}, sink.partition_by
            mode = "overwrite" if sink.overwrite else mode
        case ConsoleSink():
            format, options = "console", {"numRows": str(sink.rows), "truncate": "false"}
        case _:
            raise TypeError(f"no such sink: {sink!r}")
    return Writing(sink.name, sink.reads, format, {**options, **sink.options}, mode, partition_by, checkpoint)
