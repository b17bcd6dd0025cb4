"""Durations as people write them."""

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """Read a duration: seconds, or with a unit, as `500ms`, `10s`, `5m`, `2h`, `1d`.

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|[smhd])?", text)
    if not found:
        raise ValueError(f"{text!r} is no duration: use 10s, 5m, 2h or 500ms")
    return float(found[1]) * _SECONDS[found[2] or "s"]
