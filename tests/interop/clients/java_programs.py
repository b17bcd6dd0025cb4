"""The Java programs of the peers: where they lie, and how a virtual machine runs them."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROJECTS = {
    "4.9.7": HERE / "java" / "server4" / "target",
    "4.9.8": HERE / "java" / "client4" / "target",
    "5.5.0": HERE / "java" / "client5" / "target",
}
SERVER_VERSIONS = {"official": "5.5.0", "official-4": "4.9.7"}
QUICK_START = ("-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def command(version: str, main: str, *options: str, home: Path, heap: str = "-Xmx256m") -> list[str]:
    """Return a command that runs a class with one version of the official jars, its logs under `home`."""
    java, target = shutil.which("java"), PROJECTS[version]
    if java is None or not (target / "lib").is_dir():
        pytest.fail("the Java programs are not there: run `make peers`", pytrace=False)
    properties = {
        "java.net.preferIPv4Stack": "true",
        "java.library.path": str(target / "native"),
        "user.home": str(home),
        "java.io.tmpdir": str(home),
        # Members of a group look for changes each second instead of every twenty.
        "rocketmq.client.rebalance.waitInterval": "1000",
    }
    defines = [f"-D{key}={value}" for key, value in properties.items()]
    return [java, *QUICK_START, heap, *defines, "-cp", f"{target}/classes:{target}/lib/*", main, *options]


@functools.cache
def loopback_shim() -> Path:
    """Build the library that keeps a server's ports on loopback."""
    library = Path(tempfile.mkdtemp(prefix="tailfin-shim-")) / "loopback_bind.so"
    source = HERE / "loopback_bind.c"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-ldl"], check=True)
    return library
