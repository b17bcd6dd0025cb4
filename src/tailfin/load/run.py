"""One run, and what the server process used meanwhile."""

import os
from collections.abc import Callable
from typing import Any

from tailfin import _engine
from tailfin.load.options import LoadOptions
from tailfin.load.process import ProcessUse

Figures = dict[str, Any]
Progress = Callable[[str, float, int], bool]
"""Told the phase, the seconds in it and the messages so far; returns false to end the run."""


def run(options: LoadOptions, *, pid: int | None = None, progress: Progress | None = None) -> Figures:
    """Carry out a run and return its figures, as `_engine.run_load` names them.

    With the server's process id they also hold `server_cpu_seconds_per_million` messages and the server's
    `server_resident_bytes` and `server_anonymous_bytes`, the most that was seen while measuring;
    `client_cpu_seconds_per_million` tells what the generator itself took.
    """
    watch = _Watch(pid, progress)
    figures = _engine.run_load(options.as_engine_options(), watch)
    figures.update(watch.used(figures))
    if figures.get("consumable_seconds"):
        figures["consumable_per_second"] = figures["messages"] / figures["consumable_seconds"]
    if "received" in figures:
        figures["missing"] = max(0, figures["messages_ever"] - figures["received"]["messages_ever"])
        figures["duplicates"] = max(0, figures["received"]["messages_ever"] - figures["messages_ever"])
    return figures


class _Watch:
    """Looks at both processes at the beginning and at the end of what is measured."""

    def __init__(self, pid: int | None, progress: Progress | None) -> None:
        self._pids = [os.getpid()] if pid is None else [os.getpid(), pid]
        self._progress = progress
        self._before: list[ProcessUse] = []
        self._after: list[ProcessUse] = []
        self._resident = self._anonymous = 0
        if pid is not None:
            ProcessUse.of(pid)  # a wrong number is told before the run

    def __call__(self, phase: str, seconds: float, messages: int) -> bool:
        if phase == "measure" and not self._before:
            self._before = self._look()
        elif phase == "measure":
            self._look()
        elif phase == "drain" and not self._after:
            self._after = self._look()
        return self._progress is None or self._progress(phase, seconds, messages)

    def _look(self) -> list[ProcessUse]:
        uses = [ProcessUse.of(pid) for pid in self._pids]
        self._resident = max(self._resident, uses[-1].resident_bytes)
        self._anonymous = max(self._anonymous, uses[-1].anonymous_bytes)
        return uses

    def used(self, figures: Figures) -> Figures:
        if not self._before or not self._after:
            return {}
        # What is measured at the other end of an e2e run is the same messages.
        millions = figures["messages"] / 1e6
        spent = [
            after.cpu_seconds - before.cpu_seconds
            for before, after in zip(self._before, self._after, strict=True)
        ]
        found: Figures = {"client_cpu_seconds": spent[0]}
        if millions:
            found["client_cpu_seconds_per_million"] = spent[0] / millions
        if len(spent) > 1:
            found |= {
                "server_cpu_seconds": spent[1],
                "server_resident_bytes": self._resident,
                "server_anonymous_bytes": self._anonymous,
            }
            if millions:
                found["server_cpu_seconds_per_million"] = spent[1] / millions
        return found
