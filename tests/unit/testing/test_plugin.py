"""The pytest plugin, in a pytest of its own."""

import tomllib
from pathlib import Path

import pytest

from tests.unit.testing.users import users_pytest

ROOT = Path(__file__).parents[3]
USERS_TEST = """
def test_the_fixture_is_there(tailfin_cluster):
    assert tailfin_cluster.broker.address
"""
BY_HAND = 'pytest_plugins = ["tailfin.testing.plugin"]\n'


@pytest.mark.timeout(120)
@pytest.mark.parametrize("conftest", ["", BY_HAND], ids=["by itself", "named in conftest as well"])
def test_the_fixture_is_there_once_the_entry_point_is_loaded(conftest: str, tmp_path: Path) -> None:
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    ((name, module),) = entries.items()
    assert name == module, "under another name pytest would take it for a second plugin"
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_users.py").write_text(USERS_TEST)
    done = users_pytest(tmp_path, module)
    assert done.returncode == 0, done.stdout + done.stderr
