"""Spark, started for a pipeline and stopped after it."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tailfin.config.setting import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what goes wrong is told in a sentence
    # Days of an archive and times that are shown are the same wherever a pipeline runs.
    "spark.sql.session.timeZone": "UTC",
}


@contextlib.contextmanager
def spark(
    name: str, master: str | None = None, settings: Mapping[str, str] | None = None
) -> "Iterator[SparkSession]":
    """Give a session of Spark; one that runs already is used, and left running.

    Args:
        name: what Spark shows.
        master: Spark's master; None: that of `spark-submit`, else all cores of this machine.
        settings: further settings of Spark.

    Raises:
        ConfigError: PySpark is not installed.
    """
    try:
        from pyspark.conf import SparkConf
        from pyspark.sql import SparkSession
    except ImportError:
        raise ConfigError("pipelines run on Spark: pip install 'tailfin[spark]'") from None
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    master = master or SparkConf().get("spark.master") or LOCAL
    if master.startswith("local"):
        # Spark would take the first python3 of the path, which need not have Tailfin.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
