"""What Spark says when something goes wrong, in a sentence. No I/O."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

_CALL = re.compile(r"^An error occurred while calling \S+\n: (?:[\w$]+\.)+[\w$]+: ")
_CLASS = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*$")
PLACE = re.compile(r"\(?line (\d+), pos(?:ition)? (\d+)\)?")
_RAISED = re.compile(r"^((?:[A-Za-z_]\w*\.)*)[A-Z]\w*: (.+)$", re.MULTILINE)


def spark_errors() -> "tuple[type[PySparkException], type[Py4JJavaError]]":
    """Return what Spark raises: PySpark has classes of its own for most of what the JVM throws."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def sentence(error: object) -> str:
    """Return what an error of Spark's says, without its class, its SQL state, stack and query.

    An error that Python raised inside Spark stands at the end of a traceback; then it is what counts.
    """
    text = str(error).strip()
    raised = _python_error(text)
    if raised is not None:
        return raised
    text = _CALL.sub("", text).partition("\n")[0]
    text = _STATE.sub("", _CLASS.sub("", text))
    return PLACE.sub("", text).rstrip(" ;.\n")


def _python_error(text: str) -> str | None:
    before, found, last = text.rpartition("Traceback (most recent call last):")
    if not found:
        return None
    raised = list(_RAISED.finditer(last))
    # PySpark may fail in turn while it handles an error of ours; then ours is what counts.
    ours = [match for match in _RAISED.finditer(before + last) if match[1].startswith("tailfin.")]
    return (ours or raised)[-1][2].strip() if ours or raised else None
