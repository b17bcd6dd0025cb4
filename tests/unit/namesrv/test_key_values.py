"""The key-value config on disk: always whole, never silently lost."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from tailfin.config import files
from tailfin.config.setting import ConfigError
from tailfin.namesrv.key_values import KeyValues
from tests.unit.loops import in_loop
from tests.unit.slow_disk import SlowDisk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "namesrv" / "kvConfig.json"


@pytest.mark.shows("NS-36")
@in_loop
async def test_texts_outlive_the_server(path: Path) -> None:
    texts = KeyValues(path)
    await texts.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4;broker-b:4")
    await texts.put("other", "ключ", "значение")
    again = KeyValues(path)
    assert again.get("ORDER_TOPIC_CONFIG", "T") == "broker-a:4;broker-b:4"
    assert again.of_namespace("other") == {"ключ": "значение"}


@in_loop
async def test_the_file_has_the_shape_that_java_reads(path: Path) -> None:
    await KeyValues(path).put("ns", "k", "v")
    assert json.loads(path.read_bytes()) == {"configTable": {"ns": {"k": "v"}}}


@in_loop
async def test_absent_texts_are_none_and_can_be_deleted(path: Path) -> None:
    texts = KeyValues(path)
    await texts.delete("ns", "k")
    assert not path.exists()
    assert texts.get("ns", "k") is None
    assert texts.of_namespace("ns") is None
    await texts.put("ns", "k", "v")
    await texts.delete("ns", "k")
    assert KeyValues(path).of_namespace("ns") == {}


@in_loop
async def test_the_content_before_is_kept_and_used_when_the_file_is_damaged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = KeyValues(path)
    await texts.put("ns", "k", "1")
    await texts.put("ns", "k", "2")
    path.write_bytes(path.read_bytes()[:-7])
    with caplog.at_level(logging.WARNING):
        assert KeyValues(path).get("ns", "k") == "1"
    assert "going on with" in caplog.text


@in_loop
async def test_without_a_readable_file_the_server_does_not_start_with_nothing(path: Path) -> None:
    await KeyValues(path).put("ns", "k", "1")
    path.write_text("[]")
    with pytest.raises(ConfigError, match="cannot be read"):
        KeyValues(path)


@in_loop
async def test_a_change_that_cannot_be_written_is_not_in_force(path: Path) -> None:
    texts = KeyValues(path)
    await texts.put("ns", "k", "1")
    path.with_name(path.name + ".tmp").mkdir()
    with pytest.raises(OSError, match="tmp"):
        await texts.put("ns", "k", "2")
    assert texts.get("ns", "k") == "1"
    assert KeyValues(path).get("ns", "k") == "1"


@pytest.mark.shows("NS-09")
@in_loop
async def test_every_text_can_be_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = KeyValues(path)
    await texts.put("ns", "k", "v")
    with caplog.at_level(logging.INFO):
        texts.log_all()
    assert "ns / k = v" in caplog.text


@in_loop
async def test_changes_that_come_during_a_write_are_written_together(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = KeyValues(path)
    with SlowDisk(monkeypatch, files) as disk:
        changes = [asyncio.create_task(texts.put("ns", "first", "1"))]
        await disk.until_writing()
        changes += [
            asyncio.create_task(texts.put("ns", f"k{number % 10}", str(number))) for number in range(500)
        ]
        changes.append(asyncio.create_task(texts.delete("ns", "k3")))
        await asyncio.sleep(0)
        assert texts.of_namespace("ns") is None
    await asyncio.gather(*changes)
    assert disk.writes == 2
    expected = {"first": "1"} | {f"k{number}": str(490 + number) for number in range(10) if number != 3}
    assert texts.of_namespace("ns") == KeyValues(path).of_namespace("ns") == expected
