"""The steps of a pipeline file, and that all they name is there."""

from collections.abc import Sequence

from tailfin.pipeline import sql
from tailfin.pipeline.fields import Section
from tailfin.pipeline.model import Step
from tailfin.pipeline.nodes import Scalar
from tailfin.pipeline.problems import nearest


def steps(top: Section, sources: Sequence[str]) -> list[Step]:
    """Read all steps; return them so that each stands after those it reads."""
    entries = top.named("steps")
    _check_twice(top, sources)
    views = {each.lower(): each for each in (*sources, *(key.text for key, _ in entries))}
    found: dict[str, Step] = {}
    for name, node in entries:
        if not isinstance(node, Scalar) or node.kind == "null":
            top.problem(node.place, f"step {name.text!r} is a query, as `{name.text}: select * from orders`")
            continue
        found[name.text] = Step(name.text, node, _reads(top, name.text, node, views))
    return _ordered(top, found)


def _check_twice(top: Section, sources: Sequence[str]) -> None:
    seen = {each.lower(): each for each in sources}
    for name, _ in top.named("steps"):
        other = seen.setdefault(name.text.lower(), name.text)
        if other is not name.text:
            top.problem(name.place, f"the name {name.text!r} is taken already, by {other!r}")


def _reads(top: Section, name: str, query: Scalar, views: dict[str, str]) -> frozenset[str]:
    for mistake in sql.mistakes(query.text):
        top.problem(query.place_of(mistake.line, mistake.column), f"step {name!r}: {mistake.text}")
    reads = set()
    for read in sql.reads(query.text):
        known = views.get(read.name.lower())
        if known is None:
            what = f"step {name!r} reads {read.name!r}, which is no source or step"
            what += nearest(read.name, views.values()) or "; a table of a catalog is named with its database"
            top.problem(query.place_of(read.line, read.column), what)
        else:
            reads.add(known)
    return frozenset(reads)


def _ordered(top: Section, found: dict[str, Step]) -> list[Step]:
    """Sort steps by what they read; a circle is a problem."""
    ordered: list[Step] = []
    waiting = dict(found)
    while waiting:
        ready = [step for step in waiting.values() if not step.reads & waiting.keys()]
        if not ready:
            names = ", ".join(waiting)
            for step in waiting.values():
                what = f"step {step.name!r} reads itself, by way of {names}"
                top.problem(step.sql.place, what if len(waiting) > 1 else f"step {step.name!r} reads itself")
            return ordered
        ordered += ready
        for step in ready:
            del waiting[step.name]
    return ordered
