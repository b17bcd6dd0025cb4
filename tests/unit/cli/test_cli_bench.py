"""The load generator's command line, against the server that says yes to everything."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailfin.cli import main
from tailfin.load import LimitServer, LoadFailed, LoadOptions, run, topics
from tests.crash.waiting import wait_until

CONNECTIONS = 8  # by default


@pytest.fixture
def limit(tmp_path: Path) -> Iterator[str]:
    server = LimitServer("127.0.0.1:0", str(tmp_path))
    yield server.address
    server.stop()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


def test_send_counts_what_was_acknowledged(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "send", "-b", limit, "--count", "5_000", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["mode"], figures["broker"], figures["messages"]) == ("send", limit, 5000)
    assert figures["refused"] == {}
    assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["p999_ms"] <= figures["max_ms"]


def test_send_prints_text_with_the_server_s_use(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["bench", "send", "-b", limit, "--count", "5000", "--size", "1k", "--pid", str(os.getpid())]
    assert main([*argv, "--batch", "5", "--header", "binary"]) == 0
    out = capsys.readouterr().out
    assert "5,000 in" in out
    assert "1024 B, batches of 5" in out
    assert "acknowledged after: p50" in out
    assert "CPU s per million" in out


def test_create_tells_topics_a_second(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "create", "-b", limit, "--topics", "20"]) == 0
    assert "topics/s" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["send", "pull", "e2e"])
def test_a_broker_that_is_not_there_is_named(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    address = closed_port()
    assert main(["bench", verb, "-b", address]) == 2
    assert address in capsys.readouterr().err


def test_a_nameserver_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    address = closed_port()
    assert main(["bench", "send", "-n", address]) == 2
    assert address in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["send"], "--namesrv -b/--broker"),
        (["send", "-b", "h:1", "-n", "h:2"], "not allowed with"),
        (["send", "-b", "h:1", "--connections", "0"], "no whole number above 0"),
        (["send", "-b", "h:1", "--size", "much"], "use 128, 1k or 2M"),
        (["send", "-b", "h:1", "--duration", "soon"], "no time in seconds"),
        (["e2e", "-b", "h:1", "--rate", "-3"], "no rate above 0"),
        (["send", "-b", "h:1", "--header", "xml"], "invalid choice"),
        (["push"], "invalid choice"),
    ],
)
def test_wrong_arguments_are_explained(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *argv])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_impossible_runs_are_refused_before_they_begin(
    limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "send", "-b", "localhost", "--count", "1"]) == 2
    assert "not host:port" in capsys.readouterr().err
    assert main(["bench", "send", "-b", limit, "--queues", "9", "--count", "1"]) == 2
    assert "has 8 queues" in capsys.readouterr().err
    assert main(["bench", "send", "-b", limit, "--pid", "4194305", "--count", "1"]) == 2
    assert "no process 4194305" in capsys.readouterr().err
    assert main(["bench", "e2e", "-b", limit, "--size", "8", "--count", "1"]) == 2
    assert "16 bytes or more" in capsys.readouterr().err


def test_every_option_of_the_engine_is_checked(limit: str) -> None:
    for change in (
        {"connections": 0},
        {"rate": -1.0},
        {"body_bytes": 0},
        {"warm_up": -1.0},
        {"mode": "none"},
    ):
        with pytest.raises((ValueError, LoadFailed)):
            run(LoadOptions(**{"mode": "send", "address": limit, "topic": "T", "count": 1} | change))  # type: ignore[arg-type]  # of any type


def test_an_error_in_the_progress_ends_the_run(limit: str) -> None:
    def progress(phase: str, seconds: float, messages: int) -> bool:
        raise ArithmeticError(phase)

    with pytest.raises(ArithmeticError):
        run(LoadOptions(mode="send", address=limit, topic="T", duration=3600), progress=progress)


def open_sockets(pid: int) -> int:
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since
            count += str(link.readlink()).startswith("socket:")
    return count


def test_ctrl_c_ends_a_run_with_its_figures_so_far(limit: str) -> None:
    command = [sys.executable, "-m", "tailfin", "bench", "send", "-b", limit, "--duration", "3600", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: open_sockets(process.pid) > CONNECTIONS, "the run to begin")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGINT, err
    figures = json.loads(out)
    assert figures["interrupted"]
    assert figures["messages"] > 0


def test_the_limit_server_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailfin", "bench", "limit-server", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("listening on ").strip()
        assert topics.queue_count(address, "Any") == 8
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert list(tmp_path.iterdir()) == []
