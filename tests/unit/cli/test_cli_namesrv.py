"""`tailfin namesrv` as a process: start, stop, settings, mistakes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailfin import cli


@contextlib.contextmanager
def command(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    line = [sys.executable, "-m", "tailfin", "namesrv", *words]
    environment = os.environ | {"HOME": str(home)}
    with subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def started(process: subprocess.Popen[str]) -> int:
    """Return the port that the server says it listens on."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("The Name Server boot success. serializeType=JSON"):
            return int(line.rpartition(":")[2])
    raise AssertionError(process.stderr.read() if process.stderr else "")


@pytest.mark.shows("NS-06", "NS-10", "U-03")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, number: signal.Signals) -> None:
    with command(tmp_path, "--host", "127.0.0.1", "-p", "0") as process:
        port = started(process)
        with socket.create_connection(("127.0.0.1", port)):
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert output == "The Name Server has stopped.\n"
        assert "Traceback" not in errors
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port))


@pytest.mark.shows("NS-02", "NS-03", "NS-04", "U-03", "X-19")
def test_settings_of_file_and_options_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "namesrv.conf"
    conf.write_text("orderMessageEnable=true\nenableTopicList=false\nserverChannelMaxIdleTimeSeconds=9\n")
    assert cli.main(["namesrv", "-c", str(conf), "--set", "enableTopicList = true", "-p"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"load config properties file OK, {conf}"
    assert {
        "orderMessageEnable=true",
        "enableTopicList=true",
        "serverChannelMaxIdleTimeSeconds=9",
        "listenPort=9876",
        f"configStorePath={conf}",
    } <= set(lines)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-p", "http"], "listenPort must be a whole number, not 'http'"),
        (["-c", "no/such/file"], "no/such/file"),
        (["--set", "listenPort"], "--set takes KEY=VALUE, not 'listenPort'"),
        (["--set", "lisenPort=1"], "did you mean 'listenPort'?"),
        (["--host", "256.0.0.1", "-p", "0"], "256.0.0.1"),
    ],
)
def test_a_mistake_is_said_in_one_line(
    tmp_path: Path,
    words: list[str],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cli.main(["namesrv", *words]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert errors[0].startswith("tailfin: ")
    assert text in errors[0]


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with command(tmp_path, "--host", "127.0.0.1", "-p", str(port)) as process:
            _, errors = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"127.0.0.1:{port}" in errors
    assert "Traceback" not in errors


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["namesrv", "--help"])
    assert "tailfin namesrv -c namesrv.conf" in capsys.readouterr().out
