"""The store as Python code uses it: the engine's log, with settings, housekeeping and an end."""

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import NoReturn, Self, cast

from tailfin._engine import LogStore, Message, StoreClosed
from tailfin.config.store import StoreConfig
from tailfin.store.expiry import Cleaner

log = logging.getLogger("tailfin.store")

FIRST_CLEANING_S = 60.0
TICK_S = 1.0
FOLLOW_SLICE_S = 0.5

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_open: weakref.WeakSet["Store"] = weakref.WeakSet()


def _log_notes(root: str, notes: Iterable[tuple[str, str]]) -> None:
    for level, text in notes:
        log.log(_LEVELS.get(level, logging.WARNING), "%s: %s", root, text)


class Store(LogStore):
    """A log of messages in a directory, in RocketMQ's format.

    Opening recovers what an earlier process left behind; closing, or the end of a `with` block, puts
    everything on disk. One store at a time holds a directory. All methods may be called from any thread.

    Args:
        path: the directory; it is made when it is not there.
        config: the settings; RocketMQ's defaults without it.
        **settings: single settings by RocketMQ's key, which win over `config`.

    Raises:
        ConfigError: a setting is unknown or cannot work.
        StoreLocked: another store, in this or another process, holds the directory.
        StoreDamaged: the files are such that opening them would lose data.

    Example:
        >>> with Store("data", flushDiskType="SYNC_FLUSH") as store:
        ...     store.append("Orders", b"one pizza", tags="food")
    """

    config: StoreConfig
    _cleaner: Cleaner
    _stop: threading.Event | None = None

    def __new__(
        cls, path: str | os.PathLike[str], config: StoreConfig | None = None, **settings: object
    ) -> Self:
        """Open the store."""
        root = os.path.abspath(os.fspath(path))  # noqa: PTH100 - Path would not take every PathLike[str]
        chosen = (config or StoreConfig()).changed(**{**settings, "storePathRootDir": root})
        try:
            self = cast("Self", super().__new__(cls, root, chosen.engine_options()))
        except Exception as error:
            _log_notes(root, getattr(error, "notes", ()))
            raise
        self.config = chosen
        self._stop = threading.Event()
        self._cleaner = Cleaner(chosen, pause=self._stop.wait)
        self._log_notes()
        _open.add(self)
        threading.Thread(
            target=_keep_house, args=(weakref.ref(self), self._stop), name="tailfin-store", daemon=True
        ).start()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._stop is None or self._stop.is_set():
            return
        warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)
        with contextlib.suppress(Exception):
            self.close()

    def __repr__(self) -> str:
        return f"<Store {self.config.storePathRootDir!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Store cannot be pickled or copied: it holds open files and the directory's lock; "
            "send the messages, or open the directory on the other side once this store is closed"
        )

    def close(self) -> None:
        """Put everything on disk and stop; a second call does nothing."""
        if self._stop is not None:
            self._stop.set()
        try:
            super().close()
        finally:
            _open.discard(self)
            self._log_notes()

    def follow(self, physical_offset: int | None = None, *, timeout: float | None = 0.0) -> Iterator[Message]:
        """Yield every record of the log, of all topics, in the order they were stored.

        Args:
            physical_offset: where to begin: the start of a record; None is the start of the log.
            timeout: seconds without a new record after which it ends: by default it stops at what is
                there now, and None goes on for ever.

        Raises:
            ValueError: no record begins at the offset, or it is below the log's start.
            StoreDamaged: the next record is damaged; the text says where to go on, if there is anything.
            StoreClosed: the store was closed meanwhile.
        """
        offset = self.min_physical_offset if physical_offset is None else physical_offset
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = FOLLOW_SLICE_S if deadline is None else max(0.0, deadline - time.monotonic())
            # The engine waits without the GIL and hears no signal: short waits let Ctrl-C through.
            messages, offset = self.read_log(offset, timeout=min(left, FOLLOW_SLICE_S))
            if messages:
                yield from messages
                deadline = None if timeout is None else time.monotonic() + timeout
            elif deadline is not None and time.monotonic() >= deadline:
                return

    def clean(self, *, now: bool = False) -> int:
        """Do a round of cleaning and return how many log files went.

        Cleaning happens by itself (see `cleanResourceInterval`). With `now` the hour of `deleteWhen` does
        not matter, for this round and the next 19; files that are not expired stay all the same.
        """
        if now:
            self._cleaner.request()
        return self._cleaner.run(self)

    def clean_like(self, config: StoreConfig) -> None:
        """Clean by the settings of another config from now on; all its other settings do not matter."""
        self.config = self._cleaner.config = self.config.cleaned_like(config)

    def _log_notes(self) -> None:
        with contextlib.suppress(StoreClosed):
            _log_notes(self.config.storePathRootDir, self.notes())

    def _tick(self, clean: bool) -> None:
        self._log_notes()
        if self.config.debugLockEnable:
            self._watch_lock()
        if clean:
            self._cleaner.run(self)

    def _watch_lock(self) -> None:
        held_ms = self.stats().get("lock_held_ms", 0)
        # Beyond 10,000,000 ms the lock is idle: its start time is then 0 (RocketMQ's bounds).
        if 1000 < held_ms < 10_000_000:
            stacks = "".join(
                f"thread {ident}:\n{''.join(traceback.format_stack(frame))}"
                for ident, frame in sys._current_frames().items()
            )
            log.warning("the append lock has been held for %d ms\n%s", held_ms, stacks)


def _keep_house(store_ref: weakref.ref[Store], stop: threading.Event) -> None:
    """Tick once a second until the store is closed or forgotten."""
    next_cleaning = time.monotonic() + FIRST_CLEANING_S
    while not stop.wait(TICK_S):
        store = store_ref()
        if store is None:
            return
        clean = time.monotonic() >= next_cleaning
        if clean:
            next_cleaning = time.monotonic() + store.config.cleanResourceInterval / 1000
        try:
            store._tick(clean)
        except StoreClosed:
            return
        except Exception:
            log.exception("housekeeping of %r failed; it goes on", store)
        del store


@atexit.register
def _close_all() -> None:
    """Close what the program left open, so that the next start finds it clean."""
    for store in list(_open):
        with contextlib.suppress(Exception):
            store.close()
