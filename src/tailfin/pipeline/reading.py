"""A pipeline file, read and checked: all that is wrong is told at once."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tailfin.pipeline import nodes, references, sinks, sources
from tailfin.pipeline.fields import Section
from tailfin.pipeline.model import Cluster, Pipeline, Source, TopicSource, Trigger
from tailfin.pipeline.nodes import Scalar, Table
from tailfin.pipeline.problems import PipelineError, Place, Problem, nearest

TRIGGERS = ("batch", "available_now")


def load(path: Path, *, nameserver: str | None = None, otherwise: str | None = None) -> Pipeline:
    """Read a pipeline file.

    Args:
        path: the file.
        nameserver: name servers in the place of those that the file names.
        otherwise: name servers if the file names none.

    Raises:
        PipelineError: it cannot run; the text has a line for each thing that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        place = Place(str(path), 1, 1)
        raise PipelineError([Problem(place, f"this is no UTF-8 text: {error.reason}")]) from None
    found = parse(str(path), text)
    chosen = nameserver or found.cluster.nameserver or otherwise
    return replace(found, cluster=replace(found.cluster, nameserver=chosen))


def parse(file: str, text: str, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Read the text of a pipeline file.

    Args:
        file: its name, for the places of mistakes.
        text: what stands in it.
        environment: where names such as `$SECRET` are looked up; None: the environment of this process.
    """
    problems: list[Problem] = []
    root = nodes.read(file, text, problems)
    if not isinstance(root, Table):
        what = "the file is empty" if root is None else "a pipeline is a mapping"
        raise PipelineError([Problem(Place(file, 1, 1), f"{what}: it has sources, steps and sinks")])
    top = Section(root, "the pipeline", problems)
    found = _pipeline(top, Path(file).stem, os.environ if environment is None else environment)
    top.end()
    if problems:
        raise PipelineError(problems)
    return found


def _pipeline(top: Section, stem: str, environment: Mapping[str, str]) -> Pipeline:
    name = top.text("name") or stem
    cluster = _cluster(top, environment)
    given = _trigger(top)
    # What follows from the trigger cannot be told when nobody knows which one was meant.
    trigger = given or Trigger(streaming=True)
    checkpoint = top.text("checkpoint")
    found_sources = sources.read(top, trigger)
    steps = references.steps(top, [key.text for key, _ in top.named("sources")])
    views = [key.text for each in ("sources", "steps") for key, _ in top.named(each)]
    found_sinks = sinks.read(top, trigger, views)
    if given is not None:
        _check_streaming(top, trigger, checkpoint, found_sources)
    return Pipeline(
        name=name,
        cluster=cluster,
        sources=tuple(found_sources),
        steps=tuple(steps),
        sinks=tuple(found_sinks),
        checkpoint=checkpoint,
        trigger=trigger,
        spark=top.pairs("spark"),
    )


def _cluster(top: Section, environment: Mapping[str, str]) -> Cluster:
    access, secret = (_from_environment(top, key, environment) for key in ("access_key", "secret_key"))
    if (access is None) != (secret is None):
        given = "access_key" if access else "secret_key"
        top.problem(top.place_of(given), "access_key and secret_key belong together: give both, or none")
    return Cluster(
        nameserver=top.text("nameserver"), access_key=access, secret_key=secret, tls=top.flag("tls")
    )


def _from_environment(top: Section, key: str, environment: Mapping[str, str]) -> str | None:
    found = top.scalar(key)
    if found is None:
        return None
    if not found.text.startswith("$"):
        return found.text
    name = found.text[1:].strip("{}")
    if name not in environment:
        top.problem(found.place, f"the environment variable {name} of {key} is not set")
    return environment.get(name)


def _trigger(top: Section) -> Trigger | None:
    """Read the trigger; None when it is none."""
    if not top.has("trigger"):
        return Trigger()
    found = top.node("trigger")
    if isinstance(found, Scalar):
        text = top.text("trigger", choices=(*TRIGGERS, "every: 10s"))
        return None if text is None else Trigger(streaming=text == "available_now")
    section = top.section("trigger", "trigger")
    if section is None:
        return None
    if not section.has("every") and not any(nearest(key, ["every"]) for key in section.keys):
        section.problem(section.place, f"trigger is one of {', '.join(TRIGGERS)}, or `every: 10s`")
    every = section.duration("every")
    section.end()
    return None if every is None else Trigger(streaming=True, every_s=every)


def _check_streaming(top: Section, trigger: Trigger, checkpoint: str | None, found: list[Source]) -> None:
    if not trigger.streaming:
        if checkpoint is not None:
            what = "a batch keeps no checkpoint: leave it out, or say `trigger: available_now`"
            top.problem(top.place_of("checkpoint"), what)
        return
    if checkpoint is None and not top.has("checkpoint"):
        what = "a stream keeps how far it is in a folder: say `checkpoint: PATH`"
        top.problem(top.place_of("trigger"), what)
    if found and not any(isinstance(each, TopicSource) for each in found):
        what = "nothing here streams: only topics do; say `trigger: batch`"
        top.problem(top.place_of("trigger"), what)
