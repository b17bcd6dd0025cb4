"""docs/admin.md names commands and methods: they are there."""

import re
from pathlib import Path

from tailfin.admin.blocking import AdminClient
from tailfin.cli import NOUNS, module_of

PAGE = Path(__file__).parents[3] / "docs/admin.md"
ROWS = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_commands_of_the_page_exist() -> None:
    named = set()
    for _, commands, _ in ROWS:
        for noun, verb in (words.split()[:2] for words in quoted(commands) if " " in words):
            if noun in NOUNS:
                named.add((noun, verb))
    assert named <= {(noun, verb) for noun in NOUNS for verb in module_of(noun).VERBS}
    ours = ("topic", "group", "offset", "message", "dlq", "cluster")
    assert named == {(noun, verb) for noun in ours for verb in module_of(noun).VERBS}


def test_the_methods_of_the_page_exist() -> None:
    admin = AdminClient(nameserver="127.0.0.1:1")
    count = 0
    for _, _, methods in ROWS:
        noun = ""
        for name in quoted(methods):
            if name.startswith("tailfin."):
                continue
            noun, _, method = name.rpartition(".") if "." in name else (noun, "", name)
            assert callable(getattr(getattr(admin, noun), method)), name
            count += 1
    assert count > 40
