"""From a request to its handler and from what the handler did to a response.

A handler is a plain or an async function that takes the request and returns a `Response`, or None when it
answers later by itself. It refuses by raising `RemotingError`; any other exception is a fault of ours and
is answered with SYSTEM_ERROR and its text.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tailfin.wire import version
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError

if TYPE_CHECKING:
    from tailfin._engine import Request

log = logging.getLogger("tailfin.remoting")

_REMARK_MAX = 1024
"""Longest text of an unexpected exception that a client is shown."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a request is answered with."""

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    fields: Mapping[str, str] | None = None
    body: bytes = b""


Handler = Callable[["Request"], "Response | Awaitable[Response | None] | None"]
F = TypeVar("F", bound=Callable[..., Any])


class Hook(Protocol):
    """Sees every request that reaches Python; what it raises is answered like a handler's exception."""

    def before(self, request: "Request") -> None:
        """Look at a request before its handler does."""

    def after(self, request: "Request", response: Response) -> None:
        """Look at a response before it is sent."""


def handles(*codes: Code) -> Callable[[F], F]:
    """Mark a function or method as the handler of these requests; `Dispatcher.add` finds it by the mark."""

    def mark(function: F) -> F:
        function.__dict__["handles"] = codes
        return function

    return mark


def marked(part: object) -> Iterator[tuple[Code, Handler]]:
    """Yield the handlers of an object or a module by code."""
    names = dir(part) if inspect.ismodule(part) else dir(type(part))
    for name in names:
        for code in getattr(getattr(part if inspect.ismodule(part) else type(part), name), "handles", ()):
            yield code, getattr(part, name)


class Dispatcher:
    """Handlers by code, and the hooks round them."""

    def __init__(self, hooks: tuple[Hook, ...] = ()) -> None:
        self.hooks = hooks
        self.leaving = False
        """Whether clients that understand it are told to go elsewhere."""
        self._handlers: dict[int, Handler] = {}

    def add(self, *parts: object) -> None:
        """Take the marked handlers of objects or modules; two for one code are a mistake."""
        for part in parts:
            for code, handler in marked(part):
                if code in self._handlers:
                    raise ValueError(f"{code.name} has two handlers: {self._handlers[code]} and {handler}")
                self._handlers[code] = handler

    def run(self, request: "Request") -> Response | Awaitable[Response | None] | None:
        """Handle a request; what comes back awaitable is not finished yet."""
        try:
            for hook in self.hooks:
                hook.before(request)
            if self.leaving and request.version > version.V5_3_1:
                raise RemotingError(ResponseCode.GO_AWAY, "please go away")
            handler = self._handlers.get(request.code)
            if handler is None:
                unsupported = f" request type {request.code} not supported"
                raise RemotingError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, unsupported)
            outcome = handler(request)
        except Exception as error:
            return self._finished(request, refusal(request, error))
        if isinstance(outcome, Response) or outcome is None:
            return self._finished(request, outcome)
        return self._awaited(request, outcome)

    async def _awaited(self, request: "Request", outcome: Awaitable[Response | None]) -> Response | None:
        try:
            response = await outcome
        except Exception as error:
            response = refusal(request, error)
        return self._finished(request, response)

    def _finished(self, request: "Request", response: Response | None) -> Response | None:
        if response is None:
            return None
        try:
            for hook in self.hooks:
                hook.after(request, response)
        except Exception as error:
            return refusal(request, error)
        return response


def refusal(request: "Request", error: Exception) -> Response:
    """Turn an exception into what the client is told."""
    if isinstance(error, RemotingError):
        return Response(error.code, error.remark)
    log.error("request %d from %s failed", request.code, request.peer, exc_info=error)
    return Response(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}"[:_REMARK_MAX])
