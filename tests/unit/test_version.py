import tomllib
from pathlib import Path

import tailfin

ROOT = Path(__file__).parents[2]


def test_python_and_cargo_name_the_same_version() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert tailfin.__version__ == cargo["workspace"]["package"]["version"]
