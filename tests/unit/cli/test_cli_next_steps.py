"""What `tailfin start` prints can be pasted, and does what it says."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailfin.cli.next_steps import next_steps

ROOT = Path(__file__).parents[3]
NO_NAMESRV = {key: value for key, value in os.environ.items() if key != "NAMESRV_ADDR"}


@dataclass
class Started:
    """A node that runs, the folder it runs in, and what it printed."""

    folder: Path
    said: str

    @property
    def namesrv(self) -> str:
        return self.said.partition("name server ")[2].partition(",")[0]

    def below(self, heading: str) -> str:
        """Return the lines of the paragraph that begins with a heading."""
        (paragraph,) = (each for each in self.said.split("\n\n") if each.startswith(heading))
        return paragraph.partition("\n")[2]

    def runs(self, command: list[str], pressed: str = "") -> str:
        """Run a command where the user would; return what it prints."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=NO_NAMESRV,
            input=pressed,
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("next steps")
    command = [sys.executable, "-m", "tailfin", "start", "--ephemeral", "--port", "0", "--broker-port", "0"]
    with subprocess.Popen(command, cwd=folder, env=NO_NAMESRV, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C stops it." not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield Started(folder, said)
        process.terminate()


def test_the_consumer_prints_what_the_producer_sent(started: Started) -> None:
    (python,) = shlex.split(re.findall(r"^A producer, for (.+) \(", started.said, re.MULTILINE)[0])
    started.runs([python, "-c", started.below("A producer")])
    command = [python, "-u", "-c", started.below("A consumer")]
    with subprocess.Popen(
        command, cwd=started.folder, env=NO_NAMESRV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as consumer:
        assert consumer.stdin is not None
        assert consumer.stdout is not None
        assert "b'hello'" in consumer.stdout.readline()
        consumer.communicate("\n", timeout=20)
    assert consumer.returncode == 0


def test_the_lines_for_the_shell_run_as_they_stand(started: Started) -> None:
    *own, _mqadmin = started.below("From the shell").splitlines()
    printed = "".join(started.runs(shlex.split(line)) for line in own)
    assert len(own) == 3
    assert "hello" in printed
    assert "broker-a" in printed


def test_the_line_for_mqadmin_names_a_command_that_works_and_this_name_server(started: Started) -> None:
    line = started.below("From the shell").splitlines()[-1]
    shell, script, command, *options = line.split()
    assert (shell, script, options) == ("sh", "bin/mqadmin", ["-n", started.namesrv])
    assert f"| {command} | works |" in (ROOT / "docs" / "compatibility.md").read_text()


def test_the_program_is_named_by_the_way_that_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "tailfin"):
        (programs / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.chdir(tmp_path)
    assert "\n.venv/bin/tailfin message send" in next_steps("", "", "")
    monkeypatch.chdir(programs)
    assert f"\n{programs}/tailfin message send" in next_steps("", "", "")
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    assert "\ntailfin message send" in next_steps("", "", "")
    (programs / "tailfin").unlink()
    assert "\npython -m tailfin message send" in next_steps("", "", "")
