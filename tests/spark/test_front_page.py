"""README.md: its block of Spark is run as it stands there."""

import re
from pathlib import Path

import pytest

from tests.spark.conftest import Broker

README = Path(__file__).parents[2] / "README.md"


def test_the_block_of_the_front_page_shows_the_messages(
    tailfin_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```\n", README.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if "pyspark" in block)
    topic = tailfin_broker.topic()
    tailfin_broker.send(topic, [b"paid 42"])
    exec(code.replace("127.0.0.1:9876", tailfin_broker.namesrv).replace('"orders"', f'"{topic}"'), {})
    assert "paid 42" in capsys.readouterr().out
