"""RocketMQ topics in Spark; docs/spark.md is the guide."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailfin.spark.lag import Lag as Lag
    from tailfin.spark.lag import LagListener as LagListener

if not TYPE_CHECKING:  # or every misspelt name would pass for one

    def __getattr__(name: str) -> object:
        # PySpark comes with the first use: options and planning do without.
        if name not in ("Lag", "LagListener"):
            raise AttributeError(f"module 'tailfin.spark' has no attribute {name!r}")
        return getattr(importlib.import_module("tailfin.spark.lag"), name)
