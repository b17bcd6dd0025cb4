"""JSON of a table that is written again and again: an entry that is still the same object is not."""

from collections.abc import Mapping

from tailfin.wire import fastjson
from tailfin.wire.body import Body


class EntryTexts:
    """The entries as they were written last."""

    def __init__(self, depth: int | None = None) -> None:
        """Say how deep in a pretty text the entries stand; None: they stand in a text of one line."""
        self._depth = depth
        self._kept: dict[str, tuple[Body, fastjson.Written]] = {}

    def of_all(self, entries: Mapping[str, Body]) -> dict[str, fastjson.Written]:
        """Return the text of every entry, sorted by name; what is no longer among them is forgotten."""
        self._kept = {name: self._written(name, entry) for name, entry in sorted(entries.items())}
        return {name: text for name, (_, text) in self._kept.items()}

    def of_some(self, entries: Mapping[str, Body]) -> dict[str, fastjson.Written]:
        """Return the text of some entries; those of the others stay known."""
        some = {name: self._written(name, entry) for name, entry in entries.items()}
        self._kept |= some
        return {name: text for name, (_, text) in some.items()}

    def _written(self, name: str, entry: Body) -> tuple[Body, fastjson.Written]:
        known = self._kept.get(name)
        if known is not None and known[0] is entry:
            return known
        return entry, fastjson.written(entry.to_tree(), self._depth)
