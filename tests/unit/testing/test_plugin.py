"""The pytest plugin, in a pytest of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
USERS_TEST = """
def test_the_fixture_is_there(tailfin_cluster):
    assert tailfin_cluster.broker.address
"""
BY_HAND = 'pytest_plugins = ["tailfin.testing.plugin"]\n'


@pytest.mark.timeout(60)
@pytest.mark.parametrize("conftest", ["", BY_HAND], ids=["by itself", "named in conftest as well"])
def test_the_fixture_is_there_once_the_entry_point_is_loaded(conftest: str, tmp_path: Path) -> None:
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    ((name, module),) = entries.items()
    assert name == module, "under another name pytest would take it for a second plugin"
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_users.py").write_text(USERS_TEST)
    pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", module, "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(pytest_run, cwd=tmp_path, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stdout
