"""The offline tools on directories of the official store."""

import json
import subprocess
import sys
from pathlib import Path

from tests.interop.conftest import Written
from tests.interop.official import ROOT, SMALL


def test_verify_finds_no_damage_in_what_java_wrote(java_written: Written, tmp_path: Path) -> None:
    """Read-only: on the directory itself, which other tests copy afterwards."""
    config = tmp_path / "broker.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in SMALL.items()))
    command = [sys.executable, "-m", "tailfin", "store", "verify", "--json", "--config", str(config)]
    done = subprocess.run([*command, java_written.directory], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["damaged"] == 0
    # Half and rolled-back messages are records without a unit.
    units = sum(line["messages"] for line in java_written.answers.queues.values())
    assert report["counts"]["units"] == units
    assert report["counts"]["records"] == len(java_written.acks) > units


def test_inspect_counts_what_java_wrote(java_closed: Written) -> None:
    command = [sys.executable, "-m", "tailfin", "store", "inspect", "--json", str(java_closed.directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    queues = {
        (topic, line["queue"]): line["max"] for topic, lines in report["topics"].items() for line in lines
    }
    assert queues == {queue: line["maxOffset"] for queue, line in java_closed.answers.queues.items()}
