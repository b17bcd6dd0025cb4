"""Folders that archives and histories are kept in."""

from pathlib import Path

import pytest

from tailfin.cli import main
from tailfin.pipeline.folders import mounted


@pytest.mark.parametrize("path", ["/data/a", "file:/data/a", "file:///data/a", "FILE:///data/a"])
def test_a_folder_of_this_machine_is_taken(path: str) -> None:
    assert mounted(path) == Path("/data/a")


def test_a_folder_may_be_named_from_here_and_with_a_colon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mounted("a:b/c") == tmp_path / "a:b/c"


@pytest.mark.parametrize("path", ["s3a://bucket/a", "hdfs://name:8020/a", "hdfs:/a", "abfss://c@host/a"])
@pytest.mark.parametrize("command", [["archive", "orders"], ["lag"], ["lag", "--show"]], ids=" ".join)
def test_another_file_system_is_refused_before_anything_starts(
    command: list[str],
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pipeline", *command, "--to", path, "--nameserver", "127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert f"{path} is not a folder of this machine or of a disk that is mounted here: give one" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
