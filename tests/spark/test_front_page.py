"""README.md: its block of Spark is run as it stands there."""

import pytest

from tests.spark.conftest import Broker
from tests.unit.examples.pages import ROOT, blocks


def test_the_block_of_the_front_page_shows_the_messages(
    tailfin_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = (each for each in blocks(ROOT / "README.md", "python") if "pyspark" in each.code)
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, [b"paid 42"])
    block.run({}, {"127.0.0.1:9876": tailfin_broker.namesrv, '"orders"': f'"{topic}"'})
    assert "paid 42" in capsys.readouterr().out
