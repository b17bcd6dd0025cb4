"""A table in a JSON file that changes entry by entry: a change costs one line in a journal, not the file.

Changes are acknowledged when they are in the journal, which one write and one flush does for all who wait.
The file follows about a second later, written by another thread, and the journal begins anew. What a stop
by force leaves in the journal is put into the table at the next start.

RocketMQ does not know the journal. If one of its brokers used the directory in between, the versions in the
journal and in the file tell, and the journal only adds what the file lacks.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tailfin.broker.config_file import ConfigFile, following
from tailfin.broker.entry_texts import EntryTexts
from tailfin.broker.journal import Journal, line_of
from tailfin.rounds import Rounds
from tailfin.wire import fastjson
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, Misshapen
from tailfin.wire.fastjson import Json
from tailfin.wire.header import camel

T = TypeVar("T", bound=Body)

log = logging.getLogger("tailfin.broker")

REWRITE_AFTER_S = 1.0
REWRITE_SHARE = 0.05
"""Most of the time that may go into writing the whole file, however large it is."""

_CHANGED, _VERSION = "changed", "dataVersion"
_ENTRY_DEPTH = 2


class Table(Protocol[T]):
    """What is saved."""

    version: DataVersion

    def __contains__(self, name: str, /) -> bool:
        """Whether there is an entry."""

    def snapshot(self) -> T:
        """Return everything."""

    def part(self, names: Collection[str]) -> T:
        """Return what there is of some entries."""

    def take(self, content: T, names: Collection[str] | None = None) -> None:
        """Make these entries, or all, what the content says; what it does not hold is deleted."""


class SavedTable(Generic[T]):
    """Keeps a table in a file and its journal."""

    def __init__(self, path: Path, kind: type[T], table: Table[T], entries: str) -> None:
        """Name the file, what it holds, and the field of that which holds the entries."""
        self._file = ConfigFile(path, kind)
        self._journal = Journal(path.with_name(path.name + ".journal"))
        self._table = table
        self._entries = entries
        self._texts = EntryTexts(_ENTRY_DEPTH)
        self._in_file: DataVersion | None = None
        self._in_journal: DataVersion | None = None
        self._pending: dict[str, None] = {}
        self._rounds = Rounds(self._write_changes)
        self._journal_free = asyncio.Lock()
        self._since_snapshot: list[bytes] = []
        self._rewrite_due = False
        self._rewrite_timer: asyncio.TimerHandle | None = None
        self._rewriting: asyncio.Task[None] | None = None
        self._rewrite_pause = REWRITE_AFTER_S
        self._closing = False

    def load(self) -> None:
        """Fill the table from file and journal; the file then holds all of it."""
        if content := self._file.read():
            self._table.take(content)
            self._table.version = self._in_file = _version(content)
        if self._replay(self._journal.read()):
            try:
                self._write_file(self._table.snapshot())
                self._journal.restart([])
            except OSError as error:
                log.error("%s cannot be written: %s", self._file.path, error)

    def changed(self, names: Iterable[str]) -> None:
        """Have entries written soon that were made, changed or deleted."""
        self._pending.update(dict.fromkeys(names))
        self._rounds.ask()

    async def settled(self) -> None:
        """Wait until everything changed so far is on disk.

        Raises:
            OSError: it could not be written.
        """
        if self._pending:
            self._rounds.ask()
        await self._rounds.done()

    async def close(self) -> None:
        """Write the file if the table changed, as RocketMQ would find it."""
        self._closing = True
        if self._rewrite_timer:
            self._rewrite_timer.cancel()
        with contextlib.suppress(OSError):  # said already, and the whole file may still succeed
            await self.settled()
        if self._rewriting:
            await asyncio.wait([self._rewriting])
        if self._journal.size or self._pending:
            await asyncio.to_thread(self._write_file, self._table.snapshot())
            self._journal.restart([])
        self._journal.close()

    def _replay(self, records: list[Json]) -> bool:
        """Put what the journal holds beyond the file into the table; false when that is nothing."""
        found = [change for record in records if (change := self._change(record))]
        versions = [_version(content) for content, _ in found]
        known = self._in_file
        if known in versions:
            found = found[len(versions) - versions[::-1].index(known) :]
        if known and versions and known not in versions and known.counter >= versions[0].counter:
            self._add_missing(found)
            self._table.version = following(known)
        else:
            for content, names in found:
                self._table.take(content, names)
                self._table.version = _version(content)
        self._in_journal = self._table.version
        return bool(records)

    def _add_missing(self, changes: list[tuple[T, list[str]]]) -> None:
        log.warning(
            "%s was changed by another broker; of %s only what it lacks is taken",
            self._file.path,
            self._journal.path,
        )
        ours: set[str] = set()
        for content, names in changes:
            ours.update(name for name in names if name not in self._table)
            self._table.take(content, [name for name in names if name in ours])

    def _change(self, record: Json) -> tuple[T, list[str]] | None:
        try:
            return self._file.kind.from_tree(record), [str(name) for name in record.get(_CHANGED, ())]
        except (TypeError, Misshapen) as error:
            log.error("%s holds what is no change of this table: %s", self._journal.path, error)
            return None

    async def _write_changes(self) -> None:
        names, self._pending = self._pending, {}
        due, self._rewrite_due = self._rewrite_due, False
        # Both are taken in one step, so that the journal always knows the version that is in the file.
        line = self._line(names)
        content = self._table.snapshot() if due else None
        try:
            if line:
                await self._append(line)
        except OSError as error:
            self._pending = names | self._pending
            self._rewrite_later()
            log.error("%s cannot be written: %s", self._journal.path, error)
            raise
        if content is None:
            self._rewrite_later()
        else:
            self._since_snapshot = []
            self._rewriting = asyncio.create_task(self._rewrite(content))

    def _line(self, names: Collection[str]) -> bytes | None:
        version = self._table.version
        if not names and version in (self._in_journal, self._in_file):
            return None
        self._in_journal = version
        return line_of({_CHANGED: list(names), **self._table.part(names).to_tree()})

    async def _append(self, line: bytes) -> None:
        async with self._journal_free:
            begin = [] if self._journal.size else self._beginning()
            await asyncio.to_thread(self._journal.append, [*begin, line])
            self._since_snapshot.append(line)

    def _beginning(self) -> list[bytes]:
        return [line_of({_VERSION: self._in_file.to_tree()})] if self._in_file else []

    def _rewrite_later(self) -> None:
        under_way = self._rewrite_timer or self._rewrite_due or self._rewriting
        if not under_way and not self._closing:
            loop = asyncio.get_running_loop()
            self._rewrite_timer = loop.call_later(self._rewrite_pause, self._rewrite_soon)

    def _rewrite_soon(self) -> None:
        self._rewrite_timer, self._rewrite_due = None, True
        self._rounds.ask()

    async def _rewrite(self, content: T) -> None:
        started = time.monotonic()
        try:
            await asyncio.to_thread(self._write_file, content)
            async with self._journal_free:
                rest = self._since_snapshot
                await asyncio.to_thread(self._journal.restart, [*self._beginning(), *rest] if rest else [])
        except OSError as error:
            log.error("%s cannot be written: %s", self._file.path, error)
        self._rewrite_pause = max(REWRITE_AFTER_S, (time.monotonic() - started) / REWRITE_SHARE)
        self._rewriting = None
        if self._journal.size:
            self._rewrite_later()

    def _write_file(self, content: T) -> None:
        self._file.write_text(self._encoded(content))
        self._in_file = _version(content)

    def _encoded(self, content: T) -> bytes:
        rest: dict[str, Any] = {self._entries: {}}
        tree = replace(content, **rest).to_tree()  # type: ignore[type-var]  # every body is a dataclass
        tree[camel(self._entries)] = self._texts.of_all(getattr(content, self._entries))
        return fastjson.dumps(tree, pretty=True)


def _version(content: Body) -> DataVersion:
    version: DataVersion = content.data_version  # type: ignore[attr-defined]
    return version
