"""The scenarios of the official Go client: one process runs them, one line tells of each."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import LIMIT_S, Saw

PROGRAM = Path(__file__).parent / "go" / "target" / "goclient"


def run(cluster: Cluster, home: Path) -> dict[str, Saw]:
    """Run all scenarios; return what each saw."""
    if not PROGRAM.exists():
        pytest.fail("the Go program is not there: run `make peers`", pytrace=False)
    name, address = next(iter(cluster.brokers.items()))
    done = subprocess.run(
        [PROGRAM, cluster.namesrv, f"go-{cluster.make}", address, name],
        cwd=home,
        env=os.environ | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    saws = [json.loads(text) for text in done.stdout.splitlines()]
    return {saw["scenario"]: saw for saw in saws}
