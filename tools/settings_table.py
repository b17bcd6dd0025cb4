"""Writes the settings in docs/client.md from the client's own classes: `python -m tools.settings_table`."""

import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from tools import marked

GUIDE = Path(__file__).parents[1] / "docs" / "client.md"
SECTIONS = {
    "Every client": "tailfin.client.options.ClientOptions",
    "Producers": "tailfin.client.producer_options.ProducerOptions",
    "Push consumers": "tailfin.client.consuming.push_options.PushOptions",
    "Lite pull consumers": "tailfin.client.consuming.lite_options.LitePullOptions",
    "Consumers of all kinds": "tailfin.client.consuming.settings.ReadSettings",
}


def meanings(kind: type) -> dict[str, str]:
    """Return what the Args of a class's docstring say, by name."""
    text = inspect.getdoc(kind) or ""
    _, _, args = text.partition("Args:\n")
    found: dict[str, str] = {}
    name = ""
    for line in args.splitlines():
        if begins := re.match(r" {4}(\w+): (.*)", line):
            name = begins[1]
            found[name] = begins[2]
        elif line.startswith(" " * 8) and name:
            found[name] += " " + line.strip()
        else:
            break
    return found


def default(field: "dataclasses.Field[Any]") -> str:
    """Return a default as the table shows it."""
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory()
        return f"`{type(made).__name__}()`"
    value = field.default
    if isinstance(value, (frozenset, set)):
        return ", ".join(str(int(each)) for each in sorted(value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{value!r}`" if value != () else "none"


def table() -> str:
    """Return the whole text between the markers."""
    lines = []
    for title, path in SECTIONS.items():
        module, _, name = path.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        said = meanings(kind)
        lines += [f"**{title}**", "", "| setting | default | meaning |", "|---|---|---|"]
        lines += [
            f"| `{each.name}` | {default(each)} | {said[each.name]} |" for each in dataclasses.fields(kind)
        ]
        lines.append("")
    return "\n".join(lines)


def with_table(guide: str) -> str:
    """Return the guide with its table as it should be."""
    return marked.filled(guide, "settings", table())


def main() -> int:
    """Write the table; with --check, say whether it is stale."""
    guide = GUIDE.read_text()
    wanted = with_table(guide)
    if "--check" in sys.argv:
        return int(guide != wanted)
    GUIDE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
