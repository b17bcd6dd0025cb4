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

    def of(self, entries: Mapping[str, Body]) -> dict[str, fastjson.Written]:
        """Return the text of every entry, sorted by name; what is no longer among them is forgotten."""
        kept = {}
        for name, entry in sorted(entries.items()):
            known = self._kept.get(name)
            if known is None or known[0] is not entry:
                known = entry, fastjson.written(entry.to_tree(), self._depth)
            kept[name] = known
        self._kept = kept
        return {name: text for name, (_, text) in kept.items()}
