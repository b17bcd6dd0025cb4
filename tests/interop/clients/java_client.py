"""The scenarios of the official Java client: one machine runs them, one line tells of each."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.interop.clients import java_programs
from tests.interop.clients.clusters import Cluster

LIMIT_S = 600

Saw = dict[str, Any]
"""What one scenario sent and received."""


def run(version: str, cluster: Cluster, home: Path, *scenarios: str, binary: bool = False) -> dict[str, Saw]:
    """Run all scenarios, or those named, with a version of the client; return what each saw.

    With `binary` the client writes its headers in RocketMQ's binary form instead of JSON.
    """
    prefix = f"v{version[0]}{'b' if binary else ''}-{cluster.make}"
    arguments = [cluster.namesrv, prefix, *([",".join(scenarios)] if scenarios else [])]
    line = java_programs.command(version, "tailfin.ClientScenarios", *arguments, home=home)
    environment = os.environ | {"ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ" if binary else "JSON"}
    done = subprocess.run(
        line, cwd=home, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment
    )
    saws = [json.loads(text) for text in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-4000:]
    return {saw["scenario"]: saw for saw in saws}


def saw(java: dict[str, Saw], scenario: str) -> Saw:
    """Return what a scenario saw, once it is known to have come to its end."""
    line = java[scenario]
    assert "error" not in line, line["error"]
    return line
