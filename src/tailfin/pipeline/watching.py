"""Streams that run: their progress shown, their failures told, their batches finished before they stop."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tailfin.pipeline.progress import Done, Progress, progress
from tailfin.pipeline.sentences import sentence

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_S = 0.1

Show = Callable[[Progress], None]


class PipelineFailed(Exception):
    """A pipeline that ended before its time; the text says which part, and why."""


def watch(queries: "Mapping[str, StreamingQuery]", stop: threading.Event, show: Show) -> list[Done]:
    """Wait for the end of all streams, or until asked to stop.

    Args:
        queries: the streams, by the names of their sinks.
        stop: when it is set, streams end after the batch that is under way.
        show: is told of every batch.

    Returns:
        What each of them did.

    Raises:
        PipelineFailed: one of them failed; the others are stopped.
    """
    watched = [_Watched(name, query, show) for name, query in queries.items()]
    try:
        while any(each.query.isActive for each in watched):
            for each in watched:
                each.look()
            if stop.wait(LOOK_EVERY_S):
                for each in watched:
                    each.finish()
                break
    finally:
        for each in watched:
            each.query.stop()
    for each in watched:
        each.look()
    return [each.done for each in watched]


class _Watched:
    """One stream."""

    def __init__(self, name: str, query: "StreamingQuery", show: Show) -> None:
        self.query = query
        self.done = Done(name)
        self._show = show
        self._seen = -1

    def look(self) -> None:
        """Show what is new; raise what ended the stream."""
        last = self.query.lastProgress
        if last is not None and last["batchId"] > self._seen:
            for told in self.query.recentProgress:
                found = progress(self.done.name, told)
                # A stream without new messages tells of its last batch again, or of one without rows.
                if found.batch > self._seen and found.rows:
                    self.done = self.done.after(found)
                    self._show(found)
                    self._seen = found.batch
        failure = self.query.exception()
        if failure is not None:
            raise PipelineFailed(f"{self.done.name}: {sentence(failure)}")

    def finish(self) -> None:
        """Wait until the batch under way is done."""
        before = self.query.lastProgress
        while self.query.isActive and self.query.status["isTriggerActive"] and self._is_last(before):
            time.sleep(LOOK_EVERY_S)

    def _is_last(self, before: object) -> bool:
        return bool(self.query.lastProgress == before)
