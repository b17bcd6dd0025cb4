"""`tailfin start` and `tailfin broker` as a user runs them."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tailfin.broker.address import free_port
from tailfin.cli import main


def started(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tailfin", *arguments]
    env = {key: value for key, value in os.environ.items() if key != "NAMESRV_ADDR"}
    return subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def lines_until(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never came; the program said:\n{seen}")


@pytest.mark.parametrize("where", [["--ephemeral"], ["--data", "here"]])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_start_says_what_to_do_next_and_ends_cleanly(
    tmp_path: Path, where: list[str], how: signal.Signals
) -> None:
    ports = ["--port", str(free_port("127.0.0.1")), "--broker-port", str(free_port("127.0.0.1"))]
    process = started("start", *where, *ports, cwd=tmp_path)
    try:
        said = lines_until(process, "Ctrl-C stops it.")
        assert f"name server 127.0.0.1:{ports[1]}, broker 127.0.0.1:{ports[3]}" in said
        process.send_signal(how)
        rest, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert (tmp_path / "here" / "broker-a" / "commitlog").exists() == (where[0] == "--data")


def test_little_disk_is_claimed_before_there_is_data(tmp_path: Path) -> None:
    ports = ["--port", str(free_port("127.0.0.1")), "--broker-port", str(free_port("127.0.0.1"))]
    process = started("start", "--data", "d", *ports, cwd=tmp_path)
    try:
        lines_until(process, "Ctrl-C stops it.")
        blocks = sum(path.stat().st_blocks for path in (tmp_path / "d").rglob("*"))
        assert blocks * 512 < 200 << 20
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.shows("BK-18")
def test_broker_runs_with_a_conf_file_and_ends_cleanly(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "brokerName = broker-x\nbrokerIP1 = 127.0.0.1\nbindAddress = 127.0.0.1\n"
        f"listenPort = {free_port('127.0.0.1')}\nstorePathRootDir = {tmp_path / 'store'}\n"
        "sendMessageThreadPoolNums = 4\n"
    )
    process = started("broker", "-c", str(conf), cwd=tmp_path)
    try:
        said = lines_until(process, "boot success")
        assert re.search(r"The broker\[broker-x, 127\.0\.0\.1:\d+\] boot success", said)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said + rest
    assert "without effect in this part: sendMessageThreadPoolNums" in said
    assert not (tmp_path / "store" / "abort").exists()


@pytest.mark.shows("X-19")
def test_settings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "-p", "-n", "127.0.0.1:9876", "--set", "brokerName=me"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "brokerName=me" in printed
    assert "namesrvAddr=127.0.0.1:9876" in printed
    assert main(["broker", "-m"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < len(printed)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["broker", "--set", "brokerNam=x"], "did you mean 'brokerName'"),
        (["broker", "--set", "listenPort"], "KEY=VALUE"),
        (["broker", "-n", "nonsense"], "namesrvAddr"),
        (["broker", "-c", "/no/such/file"], "/no/such/file"),
    ],
)
def test_bad_settings_end_with_a_sentence(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", ["broker", "namesrv", "start"])
def test_as_many_connections_are_allowed_as_the_machine_allows(tmp_path: Path, command: str) -> None:
    broker = ["--set", "bindAddress=127.0.0.1", "--set", "listenPort=0", "--set", "storePathRootDir=d"]
    arguments = {
        "broker": [*broker, "--set", "brokerIP1=127.0.0.1"],
        "namesrv": ["--host", "127.0.0.1", "-p", "0"],
        "start": ["--ephemeral", "--port", "0", "--broker-port", "0"],
    }
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        process = started(command, *arguments[command], cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        lines_until(process, "Ctrl-C stops it." if command == "start" else "boot success")
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.shows("BK-01")
def test_broker_that_cannot_start_closes_its_store_and_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = [f"listenPort={port}", "bindAddress=127.0.0.1", "brokerIP1=127.0.0.1"]
        words = [word for each in [*settings, "storePathRootDir=d"] for word in ("--set", each)]
        process = started("broker", *words, cwd=tmp_path)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"127.0.0.1:{port}" in said
    assert "Traceback" not in said
    assert not (tmp_path / "d" / "abort").exists()
