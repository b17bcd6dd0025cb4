"""What a client brings into an empty environment: packages, bytes, and the time of an import."""

import subprocess
import sys
from pathlib import Path

from bench.client_servers import PACKAGES
from bench.sides import ROOT, BenchError, Figures

IMPORTS = {
    "tailfin": "from tailfin import Message, Producer, PushConsumer",
    "kafka": "from confluent_kafka import Consumer, Message, Producer",
    "grpc": "from rocketmq import Message, Producer, PushConsumer",
}
TIMED = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
RUNS = 5


def of(side: str, home: Path) -> Figures:
    """Fetch the wheels of a client and of all that it needs, install them in a folder and import it."""
    wheels, installed = home / "wheels", home / "installed"
    wheels.mkdir(parents=True)
    if side == "tailfin":
        wanted = "tailfin"
        build = [sys.executable, "-m", "maturin", "build", "--release", "-q", "--out", str(wheels)]
        _carry_out(build, "the wheel does not build")
    else:
        wanted = PACKAGES[side]
        fetch = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels), wanted]
        _carry_out(fetch, f"pip cannot fetch {wanted}")
    offline = ["--no-index", "--find-links", str(wheels), "--target", str(installed)]
    _carry_out(
        [sys.executable, "-m", "pip", "install", "-q", *offline, wanted], f"pip cannot install {wanted}"
    )
    times = [_import_seconds(side, installed, home) for _ in range(RUNS)]
    return {
        "bench": "footprint",
        "packages": len(list(installed.glob("*.dist-info"))),
        "wheelBytes": sum(wheel.stat().st_size for wheel in wheels.iterdir()),
        "installedBytes": sum(path.stat().st_size for path in installed.rglob("*") if path.is_file()),
        "importSeconds": min(times),
    }


def _import_seconds(side: str, installed: Path, home: Path) -> float:
    # Isolated, so that nothing but the folder is seen; without the site, so is the environment left out.
    start = f"import sys; sys.path.insert(0, {str(installed)!r}); "
    command = [sys.executable, "-I", "-S", "-c", start + TIMED.format(IMPORTS[side])]
    done = subprocess.run(
        command, cwd=home, env={"HOME": str(home)}, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)


def _carry_out(command: list[str], trouble: str) -> None:
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise BenchError(trouble)
