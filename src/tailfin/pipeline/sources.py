"""The sources of a pipeline file."""

import json
from typing import Any

from tailfin.config.setting import ConfigError
from tailfin.pipeline import plan
from tailfin.pipeline.fields import Section
from tailfin.pipeline.model import (
    Cluster,
    ParquetSource,
    Source,
    StoreSource,
    TopicSource,
    Trigger,
    Watermark,
)
from tailfin.pipeline.nodes import Table
from tailfin.pipeline.problems import nearest
from tailfin.spark.options import SourceOptions
from tailfin.spark.store_options import StoreOptions

KINDS = ("topic", "pattern", "store", "parquet")
KEYS = (*KINDS, "from", "to", "tags", "filter", "properties", "topics", "options", "watermark")


def read(top: Section, trigger: Trigger) -> list[Source]:
    """Read all sources."""
    entries = top.named("sources")
    if not entries and not top.problems:
        top.problem(top.place_of("sources"), "there are no sources: a pipeline reads from at least one")
    found: list[Source] = []
    for name, node in entries:
        what = f"source {name.text!r}"
        if not isinstance(node, Table):
            top.problem(node.place, f"{what} is a mapping with one of {', '.join(KINDS)}")
            continue
        section = Section(node, what, top.problems)
        for source in _source(name.text, section, trigger):
            _check_options(section, plan.reading(source, Cluster(), streaming=trigger.streaming))
            found.append(source)
        section.end(KEYS)
    return found


def _check_options(section: Section, reading: plan.Reading) -> None:
    """Have the source itself look at its options, as it will when Spark reads it."""
    try:
        if reading.format == plan.ROCKETMQ:
            SourceOptions.parse(reading.options)
        elif reading.format == plan.STORE:
            StoreOptions.parse({**reading.options, "paths": json.dumps(reading.paths)})
    except ConfigError as error:
        section.problem(section.place_of("options"), f"{section.what}: {error}")


def kind_of(section: Section, kinds: tuple[str, ...]) -> str | None:
    """Return which of some keys is given; it must be one and no more."""
    given = [kind for kind in kinds if section.has(kind)]
    if len(given) == 1:
        return given[0]
    if given:
        section.problem(section.place_of(given[1]), f"{section.what} has both {given[0]} and {given[1]}")
    elif not any(nearest(key, kinds) for key in section.keys):  # else the misspelt key is told of
        section.problem(section.place, f"{section.what} needs one of {', '.join(kinds)}")
    return None


def _source(name: str, section: Section, trigger: Trigger) -> list[Source]:
    kind = kind_of(section, KINDS)
    common: dict[str, Any] = {"options": section.pairs("options"), "watermark": _watermark(section)}
    if kind in ("topic", "pattern"):
        if trigger.streaming and section.has("to"):
            what = "a stream has no end: leave `to` out, or say `trigger: batch`"
            section.problem(section.place_of("to"), what)
        if section.has("tags") and section.has("filter"):
            section.problem(section.place_of("filter"), f"{section.what} has both tags and filter")
        return [
            TopicSource(
                name,
                section.place,
                topics=section.texts("topic") if kind == "topic" else (),
                pattern=section.text("pattern") if kind == "pattern" else None,
                start=section.moment("from"),
                end=section.moment("to"),
                tags=section.text("tags"),
                filter=section.text("filter"),
                properties=section.flag("properties"),
                **common,
            )
        ]
    if kind == "store":
        return [
            StoreSource(
                name,
                section.place,
                paths=section.texts("store"),
                topics=section.texts("topics"),
                properties=section.flag("properties"),
                **common,
            )
        ]
    if kind == "parquet":
        return [ParquetSource(name, section.place, paths=section.texts("parquet"), **common)]
    return []


def _watermark(section: Section) -> Watermark | None:
    below = section.section("watermark", f"watermark of {section.what}")
    if below is None:
        return None
    column, delay = below.text("column"), below.duration("delay")
    for key in ("column", "delay"):
        if not below.has(key):
            below.problem(below.place, f"{below.what} needs {key}")
    below.end()
    return None if column is None or delay is None else Watermark(column, delay)
