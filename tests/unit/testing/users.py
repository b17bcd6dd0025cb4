"""pytest as a user of Tailfin runs it."""

import os
import subprocess
import sys
from pathlib import Path


def users_pytest(folder: Path, plugin: str) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a folder with one plugin, whether or not it is installed here."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", str(folder)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)
