"""The asyncio side of the engine's server: takes requests and events, runs handlers, sends responses."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping

from tailfin import _engine
from tailfin.remoting.certificates import CertificateWatch
from tailfin.remoting.dispatch import Dispatcher, Hook, Response
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import Header

log = logging.getLogger("tailfin.remoting")

DRAIN_S = 3.0
"""How long a stop waits for what is not answered yet."""
_TAKEN_AT_ONCE = 16
_TURN_S = 0.005
"""How long requests are taken before the loop's other work gets its turn: counting them would not do."""

Listener = Callable[["_engine.Event"], None]
Detour = Callable[["_engine.Request"], bool]


class Server:
    """A listening server whose handlers are Python's.

    Made and used inside a running event loop. `stats` is the engine's own.
    """

    detour: Detour | None = None
    """May take a request away from its handler, by True: a test's faults. `serve` lets it go on."""

    def __init__(
        self,
        options: Mapping[str, int | bool | str],
        *,
        hot: "_engine.HotPath | None" = None,
        hooks: tuple[Hook, ...] = (),
    ) -> None:
        """Make a server of the engine's `options`; see `tailfin.config.server`."""
        self._engine = _engine.Server(options, hot)
        self._hot = hot
        self._dispatcher = Dispatcher(hooks)
        self._loop = asyncio.get_running_loop()
        self._calls: dict[tuple[int, int], asyncio.Future[_engine.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: dict[str, list[Listener]] = {"opened": [], "closed": []}
        self._loop.add_reader(self._engine.fileno(), self._take)
        self._run(CertificateWatch(options, self._engine.reload_tls).run())
        self._in_silence: set[_engine.Request] = set()
        self.stats = self._engine.stats

    def add(self, *parts: object) -> None:
        """Take the handlers that `@handles` marks in objects or modules."""
        self._dispatcher.add(*parts)

    def on_opened(self, listener: Listener) -> None:
        """Call a function for every new connection."""
        self._listeners["opened"].append(listener)

    def on_closed(self, listener: Listener) -> None:
        """Call a function for every connection that ended."""
        self._listeners["closed"].append(listener)

    def listen(self, host: str, port: int) -> int:
        """Accept connections from now on; return the port."""
        return self._engine.listen(host, port)

    def connections(self) -> int:
        """Return how many connections are open."""
        return self._engine.connections()

    def disconnect(self, connection: int) -> None:
        """Close a client's connection."""
        self._engine.disconnect(connection)

    def answer(self, request: "_engine.Request", response: Response) -> None:
        """Answer a request whose handler returned None; an answer that cannot be sent becomes a refusal."""
        try:
            self._send(request, response)
        except Exception as error:
            log.exception("the answer to request %d from %s cannot be sent", request.code, request.peer)
            trouble = f"the answer cannot be sent: {error}".encode(errors="backslashreplace").decode()
            self._send(request, Response(ResponseCode.SYSTEM_ERROR, trouble))

    def _send(self, request: "_engine.Request", response: Response) -> None:
        self._engine.answer(
            request,
            response.code,
            remark=response.remark,
            fields=response.fields,
            body=response.body,
        )

    def notify(self, connection: int, code: int, *, header: Header | None = None, body: bytes = b"") -> bool:
        """Send a client a request that has no answer; False when its connection is gone."""
        fields = header.encode() if header else None
        return self._engine.call(connection, code, fields=fields, body=body, oneway=True) is not None

    async def call(
        self,
        connection: int,
        code: int,
        *,
        header: Header | None = None,
        body: bytes = b"",
        timeout: float = 3.0,
    ) -> "_engine.Event":
        """Send a client a request and await its response, whatever code that has.

        Raises:
            RemotingError: RPC_SEND_TO_CHANNEL_FAILED when the connection is gone, RPC_TIME_OUT.
        """
        gone = RemotingError(
            ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, "the client's connection is closed; it may have stopped"
        )
        fields = header.encode() if header else None
        opaque = self._engine.call(connection, code, fields=fields, body=body)
        if opaque is None:
            raise gone
        future: asyncio.Future[_engine.Event] = self._loop.create_future()
        self._calls[connection, opaque] = future
        try:
            async with asyncio.timeout(timeout):
                answer = await future
        except TimeoutError:
            remark = f"the client did not answer request {int(code)} within {timeout:g} s"
            raise RemotingError(ResponseCode.RPC_TIME_OUT, remark) from None
        finally:
            self._calls.pop((connection, opaque), None)
            self._engine.forget_call(connection, opaque)
        if answer.code is None:
            raise gone
        return answer

    def hand_back(self, request: "_engine.Request") -> bool:
        """Let the hot path serve a request after all; false when it leaves it, or may not answer."""
        return request not in self._in_silence and self._engine.hand_back(request)

    async def stop(self, drain: float = DRAIN_S, *, go_away: float = 0.0) -> None:
        """Stop accepting, answer what is under way for up to `drain` seconds, close everything.

        Before that clients are told for `go_away` seconds that they should turn to another server, so that
        none of them is surprised.
        """
        if go_away > 0:
            self._dispatcher.leaving = True
            if self._hot:
                # What it answers by itself would never hear of it.
                self._hot.send_to_python(Code)
            await asyncio.sleep(go_away)
        # The engine waits in its own thread, so that handlers can still finish here.
        await self._loop.run_in_executor(None, self._engine.stop, drain)
        self._loop.remove_reader(self._engine.fileno())
        # One that has not begun would leave its handler's coroutine behind, never awaited.
        await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self) -> None:
        """Deal with what waits, for one turn of the loop: what is awaited elsewhere gets its turn as well."""
        turn_over = self._loop.time() + _TURN_S
        while self._loop.time() < turn_over and (taken := self._engine.take(_TAKEN_AT_ONCE)):
            for item in taken:
                if isinstance(item, _engine.Event):
                    self._happened(item)
                elif self.detour is None or not self.detour(item):
                    self.serve(item)

    def serve(self, request: "_engine.Request") -> None:
        """Have a request handled and answered."""
        outcome = self._dispatcher.run(request)
        if isinstance(outcome, Response):
            self.answer(request, outcome)
        elif outcome is not None:
            self._run(self._answer_later(request, outcome))

    async def serve_in_silence(self, request: "_engine.Request") -> None:
        """Have a request handled; its answer is lost."""
        self._in_silence.add(request)
        try:
            outcome = self._dispatcher.run(request)
            if inspect.isawaitable(outcome):
                await outcome
        finally:
            self._in_silence.discard(request)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_later(self, request: "_engine.Request", outcome: Awaitable[Response | None]) -> None:
        response = await outcome
        if response is not None:
            self.answer(request, response)

    def _happened(self, event: "_engine.Event") -> None:
        if event.kind == "answered":
            future = self._calls.get((event.connection, event.opaque))
            if future is not None and not future.done():
                future.set_result(event)
            return
        for listener in self._listeners[event.kind]:
            try:
                listener(event)
            except Exception:
                log.exception("what listens for connections %s failed for %s", event.kind, event.peer)
