"""What the blocking faces of clients share."""

import contextlib
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from tailfin.client.blocking.portal import Portal
from tailfin.client.errors import ClientStopped

T = TypeVar("T")


class Core(Protocol):
    """An asyncio client."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """End."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """End, knowing why."""


class Face:
    """A blocking client: starts and stops its core in the shared event loop, and passes calls on.

    Args:
        core: the client on asyncio.
        kind: what it is, for the sentence that says that it does not run.
    """

    def __init__(self, core: Core, kind: str) -> None:
        self._life = core
        self._kind = kind
        self._portal: Portal | None = None

    def start(self) -> None:
        """Begin; `with` does it."""
        if self._portal is None:
            self._portal, _ = Portal.opened_for(self._life.start())
        else:
            self._portal.call(self._life.start())

    def stop(self) -> None:
        """Finish what is under way, within `stop_timeout`, and end; `with` does it."""
        self._end(None, None, None)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end(kind, error, where)

    def _end(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        portal, self._portal = self._portal, None
        if portal is not None:
            try:
                portal.call(self._life.__aexit__(kind, error, where))
            finally:
                portal.close()

    def _ask(self, question: Callable[[], T]) -> T:
        """Have something plain done in the loop, which everything belongs to."""

        async def answer() -> T:
            return question()

        return self._call(answer())

    def _anytime(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that may also be done before the start, when it only takes a note."""
        if self._portal is None:
            # It waits for nothing then, so one step is all of it, and no event loop is needed.
            with contextlib.suppress(StopIteration):
                work.send(None)
        else:
            self._portal.call(work)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            portal = self._opened()
        except ClientStopped:
            work.close()
            raise
        return portal.call(work)

    def _opened(self) -> Portal:
        if self._portal is None:
            raise ClientStopped(f"the {self._kind} is not running: call start(), or use it in a `with` block")
        return self._portal
