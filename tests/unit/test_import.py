"""What an import does to the program that imports: nothing but give it names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CLASSES = "from tailfin import Message, Producer, PushConsumer"
LOOK = """
import json, os, sys
before = set(sys.modules)
{imports}
import threading, logging
known = logging.Logger.manager.loggerDict.values()
loggers = [logging.getLogger(), *(each for each in known if isinstance(each, logging.Logger))]
print(json.dumps({{
    "modules": sorted(set(sys.modules) - before - {{"threading", "logging"}}),
    "threads": len(os.listdir("/proc/self/task")),
    "handlers": [str(handler) for logger in loggers for handler in logger.handlers],
    "levels": [logger.name for logger in loggers if logger.level not in (logging.NOTSET, logging.WARNING)],
}}))
"""


def look(imports: str, home: Path) -> dict[str, object]:
    """Import something in a new interpreter and return what is different then."""
    environment = os.environ | {"HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", LOOK.format(imports=imports)]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("imports", ["import tailfin", "import tailfin.aio", CLASSES])
def test_an_import_starts_no_thread_writes_no_file_and_configures_no_logging(
    imports: str, tmp_path: Path
) -> None:
    found = look(imports, tmp_path)

    assert found["threads"] == 1
    assert found["handlers"] == []
    assert found["levels"] == []
    assert list(tmp_path.iterdir()) == []


def test_import_of_the_package_alone_loads_nothing_else_of_it(tmp_path: Path) -> None:
    modules = look("import tailfin", tmp_path)["modules"]

    assert isinstance(modules, list)
    assert [name for name in modules if name.startswith("tailfin")] == ["tailfin"]
    assert "asyncio" not in modules


def test_the_clients_come_without_the_servers(tmp_path: Path) -> None:
    modules = look(CLASSES, tmp_path)["modules"]

    assert isinstance(modules, list)
    others = ("tailfin.broker.app", "tailfin.namesrv", "tailfin.store", "tailfin.cluster", "tailfin.testing")
    assert [name for name in modules if name.startswith(others)] == []


@pytest.mark.parametrize("words", [["start"], ["topic", "list"]])
def test_a_command_comes_without_the_others(words: list[str], tmp_path: Path) -> None:
    modules = look(f"from tailfin.cli import parser; parser({words}).parse_args({words})", tmp_path)[
        "modules"
    ]

    assert isinstance(modules, list)
    assert f"tailfin.cli.{words[0]}" in modules
    assert [name for name in modules if name.startswith(("tailfin.cli.pipeline", "tailfin.pipeline"))] == []
