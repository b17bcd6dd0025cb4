"""The event loop behind blocking clients: one thread for all of them, there while one is in use."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from tailfin.client.errors import ClientError, ClientStopped

T = TypeVar("T")


class Portal:
    """A way into the shared event loop. Every started client opens one and closes it when it stops.

    Example:
        ```python
        portal, _ = Portal.opened_for(core.start())
        try:
            portal.call(core.work())
        finally:
            portal.close()
        ```
    """

    def __init__(self, thread: "_LoopThread") -> None:
        self._thread = thread
        self._closed = False

    @classmethod
    def open(cls) -> "Portal":
        """Open a way in; the first one starts the thread."""
        return cls(_LoopThread.join())

    @classmethod
    def opened_for(cls, beginning: Coroutine[Any, Any, T]) -> tuple["Portal", T]:
        """Open a way in and run what begins there; it is closed again if that fails."""
        portal = cls.open()
        try:
            return portal, portal.call(beginning)
        except BaseException:
            portal.close()
            raise

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it; Ctrl-C cancels it.

        Raises:
            ClientStopped: the portal is closed.
            ClientError: it was opened before a fork, or this is the loop's own thread.
        """
        try:
            loop = self._usable_loop()
        except ClientError:
            work.close()
            raise
        handed = _Handed(work)
        try:
            return asyncio.run_coroutine_threadsafe(handed.run(), loop).result()
        except BaseException:
            # Nobody waits for it any longer, after Ctrl-C for instance. One that is done stays as it is.
            with contextlib.suppress(RuntimeError):  # the loop is closed, and has ended it
                loop.call_soon_threadsafe(handed.give_up)
            raise

    def check(self) -> None:
        """Raise what `call` would, for work that needs the loop only now and then."""
        self._usable_loop()

    def call_soon(self, act: Callable[[], object]) -> None:
        """Have something done in the loop, and do not wait for it."""
        self._usable_loop().call_soon_threadsafe(act)

    def close(self) -> None:
        """Close this way in; the last one ends the thread. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            self._thread.leave()

    def _usable_loop(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise ClientStopped("the client is not running: call start(), or use it in a `with` block")
        if self._thread.pid != os.getpid():
            raise ClientError("this client was started before a fork: make a new one in the child process")
        if self._thread.is_current():
            raise ClientError("a blocking call would stop the client's own event loop: use tailfin.aio here")
        return self._thread.loop


class _Handed(Generic[T]):
    """Work for the loop that can be given up at any moment: Ctrl-C may come while it is being handed over."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[Any] | None = None
        self._given_up = False

    async def run(self) -> T:
        if self._given_up:
            self._work.close()
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        return await self._work

    def give_up(self) -> None:
        """End the work, or see to it that it never begins. Only for the loop's thread."""
        self._given_up = True
        if self._task is not None:
            self._task.cancel()


class _LoopThread:
    _lock = threading.Lock()
    _current: "_LoopThread | None" = None
    _hears_of_forks = False

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._users = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),), name="tailfin", daemon=True)

    @classmethod
    def join(cls) -> "_LoopThread":
        with cls._lock:
            if not cls._hears_of_forks:
                cls._hears_of_forks = True
                os.register_at_fork(after_in_child=cls._forked)
            if cls._current is None:
                cls._current = cls()
                cls._current._thread.start()
                cls._current._ready.wait()
            cls._current._users += 1
            return cls._current

    @classmethod
    def _forked(cls) -> None:
        # The thread is not in the child, and nobody there could give back a lock that it held.
        cls._lock = threading.Lock()
        cls._current = None

    def leave(self) -> None:
        with _LoopThread._lock:
            self._users -= 1
            if self._users or self.pid != os.getpid():
                return
            _LoopThread._current = None
        self.loop.call_soon_threadsafe(self._end.set)
        if not self.is_current():
            self._thread.join()

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._ready.set()
        await self._end.wait()
