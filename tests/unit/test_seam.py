"""Python decides, the engine moves bytes: the two halves meet in few places, and these are counted here."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/tailfin"
ENGINE = ROOT / "engine"
MAY_IMPORT_ENGINE = (
    "store",
    "remoting",
    "spark",
    "load",
    "message",
    "client",
    "arrow",
)  # modules or folders of tailfin


def imports_engine(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any("_engine" in name.name.split(".") for name in names):
                return True
            case ast.ImportFrom(module=module, names=names):
                parts = (module or "").split(".") + [name.name for name in names]
                if "_engine" in parts:
                    return True
            case ast.Constant(value="tailfin._engine"):  # importlib
                return True
    return False


def code_of(path: Path) -> Iterator[str]:
    """Yield a Rust file's lines without their comments: prose may speak of pyo3."""
    for line in path.read_text().splitlines():
        yield line.partition("//")[0]


def test_only_seven_parts_of_python_import_the_engine() -> None:
    strays = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in MAY_IMPORT_ENGINE
        and imports_engine(path.read_text())
    ]
    assert strays == []


def test_every_spelling_of_the_import_is_seen() -> None:
    spellings = (
        "import tailfin._engine",
        "from tailfin import _engine",
        "from tailfin._engine import LogStore",
        "from . import _engine as e",
        "from .._engine import LogStore",
        'importlib.import_module("tailfin._engine")',
    )
    assert [text for text in spellings if not imports_engine(text)] == []
    assert not imports_engine("from tailfin.store import Store")


def test_only_the_py_folder_of_the_engine_names_pyo3() -> None:
    strays = [
        path.relative_to(ENGINE).as_posix()
        for folder in ("src", "tests", "benches", "fuzz/fuzz_targets")
        for path in sorted((ENGINE / folder).rglob("*.rs"))
        if not path.is_relative_to(ENGINE / "src/py")
        and any(re.search(r"\bpyo3\b", x) for x in code_of(path))
    ]
    assert strays == []
