"""pyarrow, or a word on where it comes from."""

import importlib
from typing import Any


def pyarrow() -> Any:  # noqa: ANN401 - it has no types
    """Return the module.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError(
            "Arrow tables need pyarrow: `pip install tailfin[arrow]`, or tailfin[spark] for Spark as well",
            name="pyarrow",
        ) from None
