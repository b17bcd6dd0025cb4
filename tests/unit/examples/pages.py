"""The blocks of pages of the documentation, as tests run them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of a page, and the text that stands below it as what it prints."""

    page: Path
    heading: str
    line: int
    language: str
    code: str
    says: str | None

    def __str__(self) -> str:
        return f"{self.page.name}, {self.heading}, line {self.line}"

    def run(self, names: dict[str, Any], instead: dict[str, str]) -> None:
        """Run a block of Python, with other words in the place of some; an error names the page's line."""
        code = "\n" * self.line + replaced(self.code, instead)
        exec(compile(code, self.page, "exec"), names)


def blocks(page: Path, language: str) -> list[Block]:
    """Return the blocks of a page in a language; the language of what a shell shows is ''."""
    found = []
    for block in BLOCK.finditer(page.read_text()):
        before = block.string[: block.start()]
        heading = before.rpartition("\n## ")[2].partition("\n")[0]
        found.append(Block(page, heading, before.count("\n") + 1, *block.groups()))
    return [block for block in found if block.language == language]


def replaced(text: str, instead: dict[str, str]) -> str:
    """Return a text with other words in the place of some."""
    for word, other in instead.items():
        text = text.replace(word, other)
    return text
