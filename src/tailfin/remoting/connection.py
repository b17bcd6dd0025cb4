"""One connection to a server: frames in and out, responses by opaque, requests from the other side."""

import asyncio
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from tailfin.wire import frame as frames
from tailfin.wire.codes import Flag, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame, FrameError

log = logging.getLogger("tailfin.remoting")

Handler = Callable[[Frame], "Frame | Awaitable[Frame | None] | None"]

_opaques = itertools.count()


def next_opaque() -> int:
    """Return the next request number of this process, within Java's int."""
    return next(_opaques) & 0x7FFFFFFF


class Connection(asyncio.Protocol):
    """An open connection. It ends for good: whoever wants to go on opens another."""

    def __init__(self, address: str, handlers: Mapping[int, Handler], kind: int, idle_seconds: float) -> None:
        """Make the protocol object for `address`; `kind` is the header encoding of what we send."""
        self.address = address
        self.leaving = False
        self._handlers = handlers
        self._kind = kind
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._writable = asyncio.Event()
        self._last_used = self._loop.time()
        self._last_heard = -math.inf
        self._unheard: float | None = None
        self._idle_check: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed: asyncio.Future[None] = self._loop.create_future()

    @property
    def usable(self) -> bool:
        """Whether new requests may be sent on it."""
        return self._transport is not None and not self.leaving and not self._transport.is_closing()

    async def send(self, frame: Frame) -> None:
        """Write a frame; wait while the other side takes nothing."""
        await self._writable.wait()
        if self._transport is None or self._transport.is_closing():
            raise self._gone()
        try:
            data = frames.encode(frame, self._kind)
        except FrameError as error:
            raise RemotingError(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, str(error)) from None
        self._last_used = self._loop.time()
        self._transport.write(data)

    async def call(self, frame: Frame) -> Frame:
        """Send a request and await its response."""
        future: asyncio.Future[Frame] = self._loop.create_future()
        self._waiting[frame.opaque] = future
        try:
            await self.send(frame)
            return await future
        finally:
            self._waiting.pop(frame.opaque, None)

    def silence(self, since: float) -> float:
        """Return for how long others have been waiting in vain, now that a call has that began at `since`.

        Short waits one after the other count as one, if nothing at all was heard meanwhile.
        """
        if self._last_heard >= since:
            return 0.0
        self._unheard = since if self._unheard is None else min(since, self._unheard)
        return self._loop.time() - self._unheard

    def close(self) -> None:
        """End the connection; what still waits for a response fails."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once, whatever is still to be sent."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin (called by asyncio)."""
        self._transport = cast("asyncio.Transport", transport)
        self._writable.set()
        self._watch_idleness()

    def connection_lost(self, exc: Exception | None) -> None:
        """End (called by asyncio)."""
        self._transport = None
        self._writable.set()
        if self._idle_check:
            self._idle_check.cancel()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._gone())
        for task in self._tasks:
            task.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """Make senders wait (called by asyncio)."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let senders go on (called by asyncio)."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Take every complete frame (called by asyncio)."""
        self._last_used = self._last_heard = self._loop.time()
        self._unheard = None
        received = self._received
        received += data
        at = 0
        try:
            while len(received) - at >= 4:
                end = at + 4 + frames.body_length(bytes(received[at : at + 4]))
                if end > len(received):
                    break
                self._arrived(frames.decode(bytes(received[at + 4 : end])))
                at = end
        except FrameError as error:
            log.warning("connection to %s closed: %s", self.address, error)
            self.close()
            return
        del received[:at]

    def _arrived(self, frame: Frame) -> None:
        if frame.is_response:
            future = self._waiting.get(frame.opaque)
            if future is not None and not future.done():
                future.set_result(frame)
            return
        frame.origin = self.address
        task = self._loop.create_task(self._serve(frame))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, request: Frame) -> None:
        response = await self._handled(request)
        if response is None or request.is_oneway:
            return
        response.opaque = request.opaque
        response.flag |= Flag.RESPONSE
        try:
            await self.send(response)
        except RemotingError:
            log.info("%s went away before it got the answer to its request %d", self.address, request.code)

    async def _handled(self, request: Frame) -> Frame | None:
        handler = self._handlers.get(request.code)
        if handler is None:
            remark = f" request type {request.code} not supported"
            return Frame(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)
        try:
            outcome = handler(request)
            return outcome if isinstance(outcome, Frame) or outcome is None else await outcome
        except RemotingError as error:
            return Frame(code=error.code, remark=error.remark)
        except Exception as error:
            log.exception("request %d of %s failed", request.code, self.address)
            return Frame(code=ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}: {error}")

    def _watch_idleness(self) -> None:
        if self._transport is None or not self._idle_seconds:
            return
        left = self._last_used + self._idle_seconds - self._loop.time()
        if left <= 0 and not self._waiting:
            self.close()
            return
        self._idle_check = self._loop.call_later(max(left, 1.0), self._watch_idleness)

    def _gone(self) -> RemotingError:
        remark = f"the connection to {self.address} was closed"
        return RemotingError(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, remark)
