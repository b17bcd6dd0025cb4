"""Requests to any number of servers, over one connection to each that is opened when it is needed."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from tailfin.remoting.connection import Connection, Handler, next_opaque
from tailfin.wire.codes import Flag, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import JSON, Frame
from tailfin.wire.header import Header

log = logging.getLogger("tailfin.remoting")

_GO_AWAY_TRIES = 3


class ClientHook(Protocol):
    """Sees every request and its response; a signature is put into the request's fields here."""

    def before(self, address: str, request: Frame) -> None:
        """Look at, or change, a request before it is sent."""

    def after(self, address: str, request: Frame, response: Frame) -> None:
        """Look at a response."""


class Client:
    """A pool of connections by `host:port`, used inside a running event loop.

    Args:
        handlers: what to do with requests that servers send us, by code.
        hooks: called in this order; one that signs must be the last.
        tls: speak TLS to every server.
        kind: header encoding of requests; `POP_MESSAGE` and its like need JSON.
        silent_seconds: a connection that says nothing for so long while somebody waits is taken for dead.
        lost: told the address of a server whose connection ended before `disconnect` or `stop`.
    """

    def __init__(
        self,
        *,
        handlers: Mapping[int, Handler] | None = None,
        hooks: tuple[ClientHook, ...] = (),
        tls: ssl.SSLContext | None = None,
        kind: int = JSON,
        connect_seconds: float = 3.0,
        idle_seconds: float = 120.0,
        silent_seconds: float = 2.0,
        lost: Callable[[str], None] | None = None,
    ) -> None:
        self._handlers = handlers or {}
        self._hooks = hooks
        self._tls = tls
        self._kind = kind
        self._connect_seconds = connect_seconds
        self._idle_seconds = idle_seconds
        self._silent_seconds = silent_seconds
        self._lost = lost
        self._connections: dict[str, Connection] = {}
        self._opening: dict[str, asyncio.Task[Connection]] = {}
        self._stopped = False

    async def call(
        self,
        address: str,
        code: int,
        *,
        header: Header | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float = 3.0,
        accept: Collection[int] = (ResponseCode.SUCCESS,),
    ) -> Frame:
        """Send a request and await its response.

        Args:
            address: `host:port` of the server.
            code: what is asked for.
            header: the request's header.
            fields: further ext fields, or all of them where there is no header class.
            body: the request's body.
            timeout: seconds for everything, connecting included.
            accept: codes that are no error to the caller.

        Raises:
            RemotingError: the response has another code, or there is none: RPC_TIME_OUT,
                RPC_SEND_TO_CHANNEL_FAILED.
        """
        request = self._request(address, code, header, fields, body)
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(timeout):
                response = await self._exchange(address, request)
        except TimeoutError:
            self._give_up_silent(address, began)
            remark = f"no answer from {address} to request {int(code)} within {timeout:g} s"
            raise RemotingError(ResponseCode.RPC_TIME_OUT, remark) from None
        for hook in self._hooks:
            hook.after(address, request, response)
        if response.code not in accept:
            raise RemotingError(response.code, response.remark or "")
        return response

    async def notify(
        self,
        address: str,
        code: int,
        *,
        header: Header | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float = 3.0,
    ) -> None:
        """Send a request that has no answer; return when it is on its way."""
        request = self._request(address, code, header, fields, body)
        request.flag |= Flag.ONEWAY
        try:
            async with asyncio.timeout(timeout):
                connection = await self._connection(address)
                await connection.send(request)
        except TimeoutError:
            remark = f"{address} took no request {int(code)} within {timeout:g} s"
            raise RemotingError(ResponseCode.RPC_TIME_OUT, remark) from None

    def disconnect(self, address: str) -> None:
        """Close the connection to a server, if there is one; the next request opens another."""
        connection = self._connections.pop(address, None)
        if connection:
            connection.close()

    async def stop(self) -> None:
        """Close every connection."""
        self._stopped = True
        for task in self._opening.values():
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        connections = list(self._connections.values())
        self._connections.clear()
        for connection in connections:
            connection.close()
        await asyncio.gather(*(each.closed for each in connections))

    def _request(
        self, address: str, code: int, header: Header | None, fields: Mapping[str, str] | None, body: bytes
    ) -> Frame:
        request = Frame(code=code, opaque=next_opaque(), body=body)
        if header is not None:
            request.fields.update(header.encode())
        if fields:
            request.fields.update(fields)
        for hook in self._hooks:
            hook.before(address, request)
        return request

    async def _exchange(self, address: str, request: Frame) -> Frame:
        for _ in range(_GO_AWAY_TRIES):
            connection = await self._connection(address)
            response = await connection.call(request)
            if response.code != ResponseCode.GO_AWAY:
                break
            # The server closes; it may have a successor at the same address. Others still wait on this one.
            connection.leaving = True
            self._connections.pop(address, None)
        return response

    def _give_up_silent(self, address: str, began: float) -> None:
        # Its other end may be gone for good, without a word: then no request would ever get through again.
        connection = self._connections.get(address)
        if connection is None or not connection.usable:
            return
        if connection.silence(began) >= self._silent_seconds:
            log.warning("the connection to %s has gone silent: the next request opens another", address)
            connection.abort()

    async def _connection(self, address: str) -> Connection:
        found = self._connections.get(address)
        if found is not None and found.usable:
            return found
        if self._stopped:
            raise RemotingError(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, "the client is stopped")
        opening = self._opening.get(address)
        if opening is None:
            opening = self._opening[address] = asyncio.create_task(self._open(address))
            opening.add_done_callback(lambda task: self._opened(address, task))
        # One who gives up waiting does not take the connection from the others who wait for it.
        return await asyncio.shield(opening)

    async def _open(self, address: str) -> Connection:
        host, port = split_address(address)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    lambda: Connection(address, self._handlers, self._kind, self._idle_seconds),
                    host,
                    port,
                    ssl=self._tls,
                )
        except (OSError, TimeoutError, UnicodeError) as error:  # the last: no host can have such a name
            reason = str(error) or f"nothing answers within {self._connect_seconds:g} s"
            remark = f"cannot connect to {address}: {reason}"
            raise RemotingError(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, remark) from None
        self._connections[address] = connection
        connection.closed.add_done_callback(lambda _: self._forget(connection))
        return connection

    def _opened(self, address: str, task: asyncio.Task[Connection]) -> None:
        self._opening.pop(address, None)
        if not task.cancelled():
            # All who waited may have given up: then nobody else looks at the failure.
            task.exception()

    def _forget(self, connection: Connection) -> None:
        if self._connections.get(connection.address) is connection:
            del self._connections[connection.address]
            if self._lost:
                self._lost(connection.address)


def split_address(address: str) -> tuple[str, int]:
    """Take `host:port` apart; an IPv6 host may stand in brackets."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise RemotingError(ResponseCode.RPC_ADDR_IS_NULL, f"an address is host:port, not {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)
