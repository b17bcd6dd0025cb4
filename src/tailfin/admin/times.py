"""Times as users give them."""

from datetime import datetime
from typing import Literal

Moment = datetime | int
"""A time: a `datetime` (local time when it has no zone), or milliseconds since the epoch."""

Target = datetime | int | Literal["first", "last"]
"""A place in a queue: the first message stored at or after a time, or an end."""

LATEST_MS = (1 << 63) - 1


def milliseconds(moment: Moment) -> int:
    """Return a time in milliseconds since the epoch."""
    return moment if isinstance(moment, int) else round(moment.timestamp() * 1000)
