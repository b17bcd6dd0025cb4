"""How far streaming queries are behind: a listener that says it after every batch."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

log = logging.getLogger("tailfin.spark")


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a query is behind the topics it reads, as its last batch left it.

    Attributes:
        query: the query's name, its id when it has none.
        batch: number of the batch.
        messages: how many offsets of its queues it had not read.
        seconds: how long ago the oldest message that it had not read was stored; 0 when there is none.
    """

    query: str
    batch: int
    messages: int
    seconds: float


def lag_of(latest: str | None) -> tuple[int, float] | None:
    """Return messages and seconds of a source's `latestOffset`; None: it is no source of Tailfin's."""
    try:
        lag = json.loads(latest or "null")["lag"]
        return int(lag["messages"]), float(lag["seconds"])
    except (ValueError, TypeError, KeyError):
        return None


class LagListener(StreamingQueryListener):
    """Tells how far streaming queries that read `rocketmq` are behind.

    Args:
        tell: called with the lag of a query after each of its batches; without it, it is logged to
            `tailfin.spark`.

    Attributes:
        latest: the last lag of each query that runs, by its name.

    Example:
        ```python
        spark.streams.addListener(tailfin.spark.LagListener(lambda lag: gauge.set(lag.messages)))
        ```
    """

    def __init__(self, tell: Callable[[Lag], object] | None = None) -> None:
        super().__init__()
        self._tell = tell or _log
        self._names: dict[str, str] = {}
        self.latest: dict[str, Lag] = {}

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:
        """Note the query's name."""
        self._names[str(event.id)] = event.name or str(event.id)

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:
        """Tell the lag of all the query's sources together."""
        progress = event.progress
        found = [lag for each in progress.sources if (lag := lag_of(each.latestOffset)) is not None]
        if found:
            self._told(str(progress.id), progress.name, progress.batchId, found)

    def _told(self, query: str, name: str | None, batch: int, found: list[tuple[int, float]]) -> None:
        messages, seconds = sum(each[0] for each in found), max(each[1] for each in found)
        lag = Lag(name or query, batch, messages, seconds)
        self._names.setdefault(query, lag.query)
        self.latest[lag.query] = lag
        self._tell(lag)

    def onQueryIdle(self, event: "QueryIdleEvent") -> None:
        """Nothing has changed."""

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:
        """Forget the query."""
        self.latest.pop(self._names.pop(str(event.id), ""), None)


def _log(lag: Lag) -> None:
    log.info(
        "query %s is %d messages, %.1f s behind after batch %d",
        lag.query,
        lag.messages,
        lag.seconds,
        lag.batch,
    )
