"""The sinks of a pipeline file."""

from collections.abc import Sequence

from tailfin.config.setting import ConfigError
from tailfin.pipeline import plan
from tailfin.pipeline.fields import Section
from tailfin.pipeline.model import ConsoleSink, FileSink, Sink, TopicSink, Trigger
from tailfin.pipeline.nodes import Table
from tailfin.pipeline.problems import nearest
from tailfin.pipeline.sources import kind_of
from tailfin.spark.sink.options import SinkOptions

KINDS = ("topic", "parquet", "delta", "console")
KEYS = (*KINDS, "from", "output", "options", "exactly_once", "partition_by", "mode", "rows")
OUTPUTS = ("append", "update", "complete")


def read(top: Section, trigger: Trigger, views: Sequence[str]) -> list[Sink]:
    """Read all sinks; `views` are the names of sources and steps."""
    entries = top.named("sinks")
    if not entries and not top.problems:
        top.problem(top.place_of("sinks"), "there are no sinks: a pipeline writes to at least one")
    found: list[Sink] = []
    for name, node in entries:
        what = f"sink {name.text!r}"
        if not isinstance(node, Table):
            top.problem(node.place, f"{what} is a mapping with `from` and one of {', '.join(KINDS)}")
            continue
        section = Section(node, what, top.problems)
        found += _sink(name.text, section, trigger, _from(section, views))
        section.end(KEYS)
    return found


def _from(section: Section, views: Sequence[str]) -> str:
    found = section.scalar("from")
    if found is None:
        if not section.has("from"):
            section.problem(section.place, f"{section.what} needs `from`: the source or step it writes")
        return ""
    by_case = {each.lower(): each for each in views}
    if found.text.lower() not in by_case:
        section.problem(
            found.place, f"there is no source or step {found.text!r}" + nearest(found.text, views)
        )
    return by_case.get(found.text.lower(), found.text)


def _sink(name: str, section: Section, trigger: Trigger, reads: str) -> list[Sink]:
    kind = kind_of(section, KINDS)
    if not trigger.streaming and section.has("output"):
        section.problem(section.place_of("output"), "output is for streams; a batch writes all of its rows")
    output = section.text("output", choices=OUTPUTS) or "append"
    options = section.pairs("options")
    if kind == "topic":
        sink = TopicSink(
            name,
            section.place,
            reads,
            output=output,
            options=options,
            topic=section.text("topic"),
            exactly_once=section.flag("exactly_once"),
        )
        try:
            SinkOptions.parse(plan.topic_options(sink))
        except ConfigError as error:
            section.problem(section.place_of("options"), f"{section.what}: {error}")
        return [sink]
    if kind in ("parquet", "delta"):
        if kind == "parquet" and output != "append":
            section.problem(section.place_of("output"), "Parquet files are only appended to by a stream")
        return [
            FileSink(
                name,
                section.place,
                reads,
                output=output,
                options=options,
                format=kind,
                path=section.text(kind) or "",
                partition_by=section.texts("partition_by"),
                overwrite=_overwrite(section, trigger),
            )
        ]
    if kind == "console":
        if not section.flag("console", default=True):
            section.problem(section.place_of("console"), "console is true, or the sink is left out")
        rows = section.number("rows", default=20)
        return [ConsoleSink(name, section.place, reads, output=output, options=options, rows=rows)]
    return []


def _overwrite(section: Section, trigger: Trigger) -> bool:
    mode = section.text("mode", choices=("append", "overwrite"))
    if mode == "overwrite" and trigger.streaming:
        section.problem(section.place_of("mode"), "a stream appends: it cannot overwrite")
    return mode == "overwrite"
