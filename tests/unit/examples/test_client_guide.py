"""docs/client.md and README.md: every block of Python is run, and prints what stands below it.

A whole message has ids and times in it, which no page can show: where a block prints those, the bodies that
it sent are looked for.
"""

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tailfin.testing import until
from tests.unit.examples.pages import ROOT, Block, blocks
from tests.unit.examples.running import fast_cluster
from tools import settings_table

GUIDE = ROOT / "docs" / "client.md"
FOUND = [
    block
    for page in (GUIDE, ROOT / "README.md")
    for block in blocks(page, "python")
    if "pyspark" not in block.code  # tests/spark runs those
]


def test_there_are_blocks_to_run() -> None:
    assert len(FOUND) > 10


def printed_bodies(block: Block) -> list[str]:
    """Return the bodies that a block sends, as a block prints them that prints whole messages."""
    if "handler=print" not in block.code:
        return []
    bodies = re.findall(r'Message\(.*?b"(.*?)"', block.code)
    assert bodies, "a consumer that prints has something to print"
    return [f"b'{body}'" for body in bodies]


@pytest.mark.parametrize("block", FOUND, ids=str)
def test_block_runs_and_prints_what_it_says(
    block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    bodies = printed_bodies(block)

    def wait_for_the_user() -> str:
        """Take the place of `input`: press Enter when everything is there."""
        until(lambda: printed.getvalue().count("\n") >= (block.says or "").count("\n"), timeout=20)
        until(lambda: all(body in printed.getvalue() for body in bodies), timeout=20)
        return ""

    names: dict[str, Any] = {"__name__": "__main__", "input": wait_for_the_user}
    with fast_cluster() as running, contextlib.redirect_stdout(printed):
        monkeypatch.setitem(os.environ, "NAMESRV_ADDR", running.namesrv)
        block.run(names, {"127.0.0.1:9876": running.namesrv})
    assert [body for body in bodies if body not in printed.getvalue()] == []
    if block.says is not None:
        assert printed.getvalue() == block.says


def test_the_settings_are_those_of_the_code() -> None:
    guide = GUIDE.read_text()
    assert guide == settings_table.with_table(guide), "run python -m tools.settings_table"


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text()))
def test_links_lead_somewhere(target: str) -> None:
    assert (GUIDE.parent / target).exists()


@pytest.mark.parametrize("anchor", re.findall(r"\]\(#([^)]+)\)", GUIDE.read_text()))
def test_anchors_are_headings(anchor: str) -> None:
    headings = re.findall(r"^## (.*)$", GUIDE.read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_texts_to_look_for_are_those_that_are_said() -> None:
    source = "".join(path.read_text() for path in (GUIDE.parents[1] / "src" / "tailfin").rglob("*.py"))
    table = GUIDE.read_text().partition("| text | what to do |")[2]
    texts = re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)
    assert len(texts) > 10
    assert [text for text in texts if text not in source] == []
