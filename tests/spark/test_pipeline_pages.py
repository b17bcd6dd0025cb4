"""docs/pipelines: the files of its pages are pipelines, and what its shells show can be typed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

import tailfin
from tailfin.cli import main
from tailfin.store import Store
from tailfin.testing import Cluster, cluster, until
from tests.spark.sinking import visible
from tests.unit.examples.pages import ROOT, blocks, replaced
from tests.unit.spark.arriving import readable

PAGES = ROOT / "docs" / "pipelines"
README = PAGES / "README.md"
COMMAND = re.compile(r"^\$ tailfin (pipeline .*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
MISTAKES = {
    "amount double')": "amount double'",
    "from parsed": "from prased",
    "from: named": "from: nmaed",
    "partition_by": "partiton_by",
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where the pages' relative paths are; /data of the pages is there as well."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Give a cluster with the topics of the pages, where commands find it."""
    with cluster(traceTopicEnable=True) as running:
        monkeypatch.setenv("NAMESRV_ADDR", running.namesrv)
        with tailfin.AdminClient(nameserver=running.namesrv) as admin:
            for topic in ("orders", "orders-again", "orders-named", "payments"):
                admin.topics.create(topic, queues=2)
            admin.groups.create("reports")
            sell(running, admin)
        yield running


def sell(running: Cluster, admin: tailfin.AdminClient) -> None:
    """Fill the topics; the group billing consumes all but one order, and reports none."""
    with tailfin.Producer("shop", nameserver=running.namesrv, trace=True) as producer:
        bodies = [{"id": number, "customer": f"c{number % 2}", "amount": 1.5} for number in range(8)]
        orders = [tailfin.Message("orders", json.dumps(body).encode(), tags="paid") for body in bodies]
        payment = tailfin.Message("payments", b"1.50")
        readable(admin, map(producer.send, [*orders, payment]))
        admin.offsets.reset("reports", "orders", "first")

    def bill(message: tailfin.ReceivedMessage) -> None:
        if json.loads(message.body)["id"] == 1:
            raise ValueError("who is this?")

    with tailfin.PushConsumer(
        "billing",
        nameserver=running.namesrv,
        subscribe={"orders": "*"},
        handler=bill,
        consume_from="first",
        max_reconsume_times=0,
        trace=True,
    ):
        until(lambda: admin.dead_letters.groups().get("billing"), timeout=60)


class Shell:
    """Types what a page shows."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._instead = {"/data/": f"{data}/"}
        self._capsys = capsys

    def type(self, line: str, code: int = 0) -> str:
        """Run a command, which ends with a code; return what it prints."""
        self._capsys.readouterr()
        found = main(shlex.split(replaced(line, self._instead)))
        printed = self._capsys.readouterr()
        assert found == code, f"{line}\n{printed.err}{printed.out}"
        return printed.out

    def follow(self, page: str) -> None:
        """Type all of a page's commands, which end well and show tables with the headings of the page."""
        for block in blocks(PAGES / page, ""):
            for line, says in COMMAND.findall(block.code):
                printed = self.type(line)
                assert headings(says) == headings(printed), f"{block}: {line}\n{printed}"


def headings(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.isupper()]


@pytest.fixture
def shell(data: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(data, capsys)


def test_the_file_is_a_pipeline_and_its_mistakes_are_those_of_the_page(
    spark: SparkSession, shop: Cluster, data: Path, shell: Shell
) -> None:
    whole, part = (block.code for block in blocks(README, "yaml"))
    here = replaced(whole, {"10.0.0.1:9876": shop.namesrv, "/data/": f"{data}/"})
    (data / "orders.yaml").write_text(here)
    (data / "bad.yaml").write_text(replaced(here, MISTAKES))
    (data / "bad2.yaml").write_text(here.replace("c.name", "c.nme"))
    customers = "select * from values ('c0', 'Anna'), ('c1', 'Bert') as v(id, name)"
    spark.sql(customers).write.parquet(str(data / "customers"))

    checks, previews, runs = (dict(COMMAND.findall(block.code)) for block in blocks(README, ""))
    for line, says in checks.items():
        assert shell.type(line, code=1 if "bad" in line else 0) == says.rstrip("\n") + "\n"
    for line, says in previews.items():
        assert headings(shell.type(line)) == headings(says)
    for line in runs:
        assert shell.type(line).startswith("lake: 8 rows in 1 batch")
    assert spark.read.parquet(str(data / "paid")).count() == 8

    # What the page adds to the file later.
    both, more = yaml.safe_load(here), yaml.safe_load(part)
    both["steps"] |= more["steps"]
    both["sinks"] |= more["sinks"]
    (data / "orders.yaml").write_text(yaml.safe_dump(both))
    shell.type("pipeline run orders.yaml")
    assert visible(shop.namesrv, "orders-named", least=8).total() == 8


def test_commands_of_the_pages_of_ready_made_pipelines_can_be_typed(
    spark: SparkSession, shop: Cluster, shell: Shell
) -> None:
    for page in ("archive.md", "replay.md", "dlq.md", "lag.md"):
        shell.follow(page)
    assert visible(shop.namesrv, "orders-again", least=8).total() == 8


def test_a_message_is_followed_by_its_trace(spark: SparkSession, shop: Cluster, shell: Shell) -> None:
    with tailfin.AdminClient(nameserver=shop.namesrv) as admin:
        message = next(iter(admin.messages.read("orders")))
    whole, one = (COMMAND.findall(block.code)[0] for block in blocks(PAGES / "trace.md", ""))
    assert headings(shell.type(whole[0])) == headings(whole[1])
    line = re.sub(r"--message \w+", f"--message {message.message_id}", one[0])
    assert headings(shell.type(line)) == headings(one[1])


def test_a_store_is_audited_before_and_after_it_is_damaged(
    spark: SparkSession, data: Path, shell: Shell
) -> None:
    with Store(data / "store", mappedFileSizeCommitLog=64 << 10) as store:
        for number in range(40):
            store.append("orders", b"%d" % number, number % 4, keys="k")
    (block,) = blocks(PAGES / "audit.md", "")
    (sound, says), (damaged, says_of_damage) = COMMAND.findall(block.code)
    assert headings(shell.type(sound)) == headings(says)

    log = next((data / "store/commitlog").iterdir())
    stored = bytearray(log.read_bytes())
    stored[stored.index(b"orders") - 2] ^= 0xFF  # the first message's body
    log.write_bytes(stored)
    printed = shell.type(damaged, code=1)
    assert headings(printed) == headings(says_of_damage)
    assert "DAMAGE: " in printed
