"""The driver's part of exactly-once: a batch is committed as a whole, once, or not at all."""

import logging
from collections.abc import Sequence

from tailfin.spark.sink.decision_log import DecisionLog
from tailfin.spark.sink.decisions import (
    BatchName,
    Decision,
    Halves,
    History,
    Kind,
    Record,
    decide,
    identity,
)
from tailfin.spark.sink.ending import Endings, ended_from
from tailfin.spark.sink.line import Line

log = logging.getLogger("tailfin.spark")


class Committer:
    """Commits the halves of one batch, or drops them.

    Args:
        line: the process's line.
        name: which batch.
        halves: what its tasks have written.
        is_new: the name was never used before.
    """

    def __init__(self, line: Line, name: BatchName, halves: Sequence[Halves], *, is_new: bool) -> None:
        self._line = line
        self._name = name
        self._halves = tuple(halves)
        self._is_new = is_new
        self._log = DecisionLog(line, name.query) if is_new else DecisionLog.of(line, name.query)
        self._endings = Endings(line, identity(self._halves))

    def commit(self) -> None:
        """Let consumers have the batch, unless they have it already.

        Raises:
            NotCommitted: the batch is decided, but a broker did not do its part; a restart goes on with it.
            ClientError: nothing is decided.
        """
        history = self._log.history(self._name.batch, is_new=self._is_new)
        if history.decision(self._name.batch) is not None:
            log.warning("%s was committed before: what was written again is dropped", self._name)
            self._finish(history)
        elif self._halves:
            self._decide()

    def abort(self) -> None:
        """Drop what was written, unless it turns out to be committed."""
        if not self._halves:
            return
        self._log.history(self._name.batch, is_new=self._is_new)
        id = identity(self._halves)
        history = self._log.append([Record(self._name, Kind.ABORT, id)])
        decision = history.decision(self._name.batch)
        if decision is None or decision.id != id:
            self._endings.rollback(self._halves)

    def _decide(self) -> None:
        brokers = [each.broker for each in self._halves]
        decision = Decision(self._halves, self._line.run(ended_from(self._line, brokers)))
        history = self._log.append(decide(self._name, decision))
        first = history.decision(self._name.batch)
        if first is None or first.id != decision.id:
            log.warning("%s was committed by somebody else: what was written here is dropped", self._name)
            self._finish(history)
            return
        self._endings.commit(decision, is_first=True)
        self._log.append([Record(self._name, Kind.DONE, decision.id)])

    def _finish(self, history: History) -> None:
        """Do what is left of a decision that was made before."""
        decision = history.decision(self._name.batch)
        own = identity(self._halves)
        if decision is None or decision.id != own:
            self._endings.rollback(self._halves)
        if decision is not None and not history.is_done(self._name.batch):
            Endings(self._line, decision.id).commit(decision, is_first=False)
            self._log.append([Record(self._name, Kind.DONE, decision.id)])
