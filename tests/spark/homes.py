"""Where Spark finds its jars and scripts."""

from pathlib import Path


def unzipped(package: Path, home: Path) -> Path:
    """Make a home of Spark whose workers import PySpark from where it is installed, and return it.

    They would import it from a zip file, which has no bytecode: a second of compiling in every process.
    """
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(package / part)
    return home
