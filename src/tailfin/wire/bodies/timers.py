"""Waiting timed messages, as the file `timermetrics` holds them."""

from dataclasses import field

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, body


@body
class TimerCount(Body):
    """How many messages of a topic wait, and since when that is so."""

    count: int = 0
    time_stamp: int = 0


@body
class TimerMetrics(Body):
    """Waiting messages by topic."""

    timing_count: dict[str, TimerCount] = field(default_factory=dict)
    data_version: DataVersion | None = None
