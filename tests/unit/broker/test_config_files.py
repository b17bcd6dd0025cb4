"""The JSON files: never half written, never taken for empty."""

import json
import logging
from pathlib import Path

import pytest

from tailfin.broker.config_file import ConfigFile, ConfigFileDamaged, following
from tailfin.wire.bodies.common import DataVersion, KVTable


def table(**values: str) -> KVTable:
    return KVTable(table=values)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "config" / "a.json", KVTable)
    assert file.read() is None
    file.write(table(k="v"))
    assert file.read() == table(k="v")


def test_the_version_before_is_kept(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "a.json", KVTable)
    file.write(table(n="1"))
    file.write(table(n="2"))
    assert json.loads(file.backup.read_text())["table"] == {"n": "1"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.json.bak"]


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[]", b'{"table":7}'])
def test_damaged_file_falls_back_to_the_backup_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    file = ConfigFile(tmp_path / "a.json", KVTable)
    file.write(table(n="1"))
    file.write(table(n="2"))
    file.path.write_bytes(damage)
    with caplog.at_level(logging.WARNING, "tailfin.broker"):
        assert file.read() == table(n="1")
    assert str(file.path) in caplog.text


def test_missing_file_falls_back_to_the_backup(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "a.json", KVTable)
    file.write(table(n="1"))
    file.write(table(n="2"))
    file.path.unlink()
    assert file.read() == table(n="1")


def test_file_and_backup_damaged_is_an_error_that_names_both(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "a.json", KVTable)
    file.path.write_text("{")
    file.backup.write_text("")
    with pytest.raises(ConfigFileDamaged) as error:
        file.read()
    assert str(file.path) in str(error.value)
    assert str(file.backup) in str(error.value)


def test_unquoted_integer_keys_of_java_are_read(tmp_path: Path) -> None:
    from tailfin.wire.bodies.groups import ConsumerOffsetSerializeWrapper

    path = tmp_path / "consumerOffset.json"
    path.write_text('{\n\t"dataVersion":{"counter":3},\n\t"offsetTable":{"T@G":{0:10,1:20}}\n}')
    found = ConfigFile(path, ConsumerOffsetSerializeWrapper).read()
    assert found is not None
    assert found.offset_table == {"T@G": {0: 10, 1: 20}}


def test_version_after_a_change_is_greater() -> None:
    before = DataVersion(counter=4, state_version=2, timestamp=1)
    after = following(before)
    assert (after.counter, after.state_version) == (5, 2)
    assert after.timestamp > before.timestamp
