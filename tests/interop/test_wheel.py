"""The built wheel: installed alone into an empty environment, it is enough for a first program."""

import os
import subprocess
import sys
import threading
import venv
import zipfile
from pathlib import Path

import pytest

from tailfin.testing import cluster

ROOT = Path(__file__).parents[2]
WHEEL_BYTES_MAX = 8 << 20
PROGRAM_S_MAX = 120
FIRST_PROGRAM = """\
import tailfin
with tailfin.Producer("shop", nameserver="{0}") as producer:
    producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
with tailfin.PushConsumer(
    "billing", nameserver="{0}", subscribe={{"orders": "paid"}}, handler=print, consume_from="first"
):
    input()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, packed from what the last build compiled: only what has changed since is compiled again."""
    folder = tmp_path_factory.mktemp("wheel")
    # Another interpreter here than in the build would have everything compiled again.
    environment = os.environ | {"PYO3_PYTHON": sys.executable}
    command = [sys.executable, "-m", "maturin", "build", "--release", "-q", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment with nothing but the wheel in it."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, symlinks=True)
    interpreter = home / "bin/python"
    install = ["install", "-q", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(interpreter), *install], check=True)
    return interpreter


def test_a_wheel_is_small_and_has_one_native_library(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert wheel.stat().st_size < WHEEL_BYTES_MAX
    assert [name for name in names if name.endswith(".so")] == ["tailfin/_engine.abi3.so"]
    assert "tailfin/py.typed" in names
    assert {"pyspark_rocketmq/__init__.py", "pyspark_rocketmq_store/__init__.py"} <= set(names)


def test_the_wheel_brings_no_other_package(python: Path) -> None:
    packages = "import importlib.metadata as m; print(*(each.name for each in m.distributions()))"
    done = subprocess.run([python, "-I", "-c", packages], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["tailfin"]


def test_a_first_program_of_five_lines_runs_with_the_wheel_alone(python: Path, tmp_path: Path) -> None:
    with cluster() as running:
        process = subprocess.Popen(
            # Unbuffered by -u: -I does not look at PYTHONUNBUFFERED, and the line would wait for the end.
            [python, "-I", "-u", "-c", FIRST_PROGRAM.format(running.namesrv)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        watchdog = threading.Timer(PROGRAM_S_MAX, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            printed = process.stdout.readline()
            _, errors = process.communicate(b"\n")
        finally:
            process.kill()
            watchdog.cancel()

    assert b"paid 42" in printed, errors.decode()
    assert (process.returncode, errors) == (0, b"")
