"""Keys in an SQLite file: they outlive the process, and processes of one host may share them."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from os import PathLike
from types import TracebackType
from typing import Self

from tailfin.client.once.keys import LEASE_S, Claim

KEEP = timedelta(days=7)
WAIT_S = 10.0
"""How long one process waits while another one writes."""
FORGET_EVERY = 1000
"""Old keys are looked for with every so many new ones."""

TABLE = """
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY,
    done INTEGER NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID
"""
INDEX = "CREATE INDEX IF NOT EXISTS keys_until ON keys (until)"


class SqliteKeys:
    """Keys in an SQLite file.

    Args:
        path: the file; it is made if it is not there.
        keep: how long a key that is done is remembered. A repetition that comes later is not noticed: keep
            keys longer than a message can wait or be tried again.
        lease: seconds after which a claim counts as given up, because its process died.
        clock: seconds since 1970; tests have their own.

    Example:
        >>> keys = SqliteKeys("billing-keys.db", keep=timedelta(days=30))
    """

    waits = True

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep: timedelta = KEEP,
        lease: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if keep <= timedelta(0) or lease <= 0:
            raise ValueError("keep and lease are times above 0")
        self._keep_s = keep.total_seconds()
        self._lease = lease
        self._clock = clock
        self._lock = threading.Lock()
        self._since_forgetting = 0
        self._base = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        # A machine that goes down may take the last keys with it; their messages are then handled again.
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute(TABLE)
        self._base.execute(INDEX)

    def claim(self, key: str) -> Claim:
        """Begin with a key, unless it is done or someone else is at it."""
        now = self._clock()
        with self._writing() as base:
            found = base.execute("SELECT done FROM keys WHERE key = ? AND until > ?", (key, now)).fetchone()
            if found:
                return Claim.DONE if found[0] else Claim.BUSY
            self._put(base, key, done=False, until=now + self._lease)
            self._forget(base, now)
        return Claim.YOURS

    def done(self, key: str) -> None:
        """Remember that a key is done."""
        with self._writing() as base:
            self._put(base, key, done=True, until=self._clock() + self._keep_s)

    def release(self, key: str) -> None:
        """Give a claimed key up."""
        with self._writing() as base:
            base.execute("DELETE FROM keys WHERE key = ? AND NOT done", (key,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            # Others may write as well: what is read here has to stay true until it is written.
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def _put(self, base: sqlite3.Connection, key: str, *, done: bool, until: float) -> None:
        base.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", (key, done, until))

    def _forget(self, base: sqlite3.Connection, now: float) -> None:
        self._since_forgetting += 1
        if self._since_forgetting >= FORGET_EVERY:
            self._since_forgetting = 0
            base.execute("DELETE FROM keys WHERE until <= ?", (now,))
