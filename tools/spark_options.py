"""Writes the options in docs/spark.md from the code: `python -m tools.spark_options`."""

import importlib
from dataclasses import fields
from pathlib import Path

from tailfin.config.setting import Rule, Settings, as_text
from tailfin.spark.options import ConnectionOptions
from tools import marked

GUIDE = Path(__file__).parents[1] / "docs" / "spark.md"
SECTIONS = {
    "Connection, for reading and writing": "tailfin.spark.options.ConnectionOptions",
    "Reading: `rocketmq`": "tailfin.spark.options.SourceOptions",
    "Reading: `rocketmq-store`": "tailfin.spark.store_options.StoreOptions",
    "Writing: `rocketmq`": "tailfin.spark.sink.options.SinkOptions",
}


def table() -> str:
    """Return the whole text between the markers."""
    lines: list[str] = []
    for title, path in SECTIONS.items():
        module, _, name = path.rpartition(".")
        kind: type[Settings] = getattr(importlib.import_module(module), name)
        lines += [f"**{title}**", "", "| option | default | meaning |", "|---|---|---|"]
        shared = fields(ConnectionOptions) if kind is not ConnectionOptions else ()
        known = {each.name for each in shared} if issubclass(kind, ConnectionOptions) else set()
        for each in fields(kind):
            if each.name not in known:
                rule: Rule = each.metadata["rule"]
                default = f"`{as_text(each.default)}`" if each.default or each.default is False else ""
                meaning = rule.help.replace("|", r"\|")
                choices = (
                    f" One of {', '.join(f'`{word}`' for word in rule.choices)}." if rule.choices else ""
                )
                lines.append(f"| `{each.name}` | {default} | {meaning}{choices} |")
        lines.append("")
    return "\n".join(lines)


def with_table(guide: str) -> str:
    """Return the guide with its table as it should be."""
    return marked.filled(guide, "options", table())


if __name__ == "__main__":
    GUIDE.write_text(with_table(GUIDE.read_text()))
