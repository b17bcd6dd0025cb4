"""Offsets in a file, as RocketMQ's clients write it."""

import logging
from pathlib import Path

import pytest

from tailfin.client.consuming.offsets import LocalOffsets, local_path
from tailfin.client.queues import Queue
from tests.unit.loops import in_loop

Q0, Q1 = Queue("T", "broker-a", 0), Queue("T", "broker-a", 1)
OF_JAVA = b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:12}}'


@pytest.mark.shows("BC-02")
@in_loop
async def test_a_file_of_javas_is_read(tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    path.write_bytes(OF_JAVA)
    store = LocalOffsets(path)
    await store.load()
    assert (await store.fetch(Q0), await store.fetch(Q1)) == (12, None)


@in_loop
async def test_what_is_stored_is_there_after_a_restart_and_in_javas_form(tmp_path: Path) -> None:
    path = local_path(tmp_path, "10.0.0.1@DEFAULT", "G")
    assert path == tmp_path / "10.0.0.1@DEFAULT" / "G" / "offsets.json"
    store = LocalOffsets(path)
    await store.load()
    assert await store.store({Q0: 12}) == {Q0: 12}
    assert b"".join(path.read_bytes().split()) == OF_JAVA
    await store.store({Q1: 3})
    again = LocalOffsets(path)
    await again.load()
    assert (await again.fetch(Q0), await again.fetch(Q1)) == (12, 3)


@in_loop
async def test_the_version_before_is_used_when_the_file_is_damaged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "offsets.json"
    store = LocalOffsets(path)
    await store.store({Q0: 1})
    await store.store({Q0: 2})
    path.write_bytes(b'{"offsetTable":{')
    with caplog.at_level(logging.WARNING):
        await store.load()
    assert await store.fetch(Q0) == 1
    assert str(path) in caplog.text


@in_loop
async def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    store = LocalOffsets(tmp_path / "file" / "offsets.json")
    assert await store.store({Q0: 1}) == {}
    assert "offsets are not kept" in caplog.text


def test_the_usual_folder_is_rocketmqs() -> None:
    assert local_path(None, "c", "g") == Path.home() / ".rocketmq_offsets" / "c" / "g" / "offsets.json"
