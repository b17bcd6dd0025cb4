"""The client and the bridge over the engine's server, talking to each other over real sockets."""

import asyncio
import contextlib
import logging
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from tailfin.config.server import ServerConfig
from tailfin.remoting import Client, Event, Request, Response, Server, handles
from tailfin.remoting.dispatch import Dispatcher
from tailfin.remoting.signing import Signer, signature
from tailfin.wire import version
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import BINARY, JSON, Frame
from tailfin.wire.headers.clients import NotifyConsumerIdsChangedRequestHeader
from tailfin.wire.headers.pull import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from tests.unit.loops import in_loop, until


@dataclass
class Handlers:
    """One handler for every way to end."""

    seen: list[Request] = field(default_factory=list)
    server: Server | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    @handles(Code.GET_MAX_OFFSET)
    def plain(self, request: Request) -> Response:
        header = GetMaxOffsetRequestHeader.decode(request.fields)
        return Response(
            remark="plain",
            fields=GetMaxOffsetResponseHeader(offset=header.queue_id).encode(),
            body=request.body,
        )

    @handles(Code.GET_MIN_OFFSET)
    async def waits(self, request: Request) -> Response:
        self.waiting += 1
        await self.gate.wait()
        return Response(body=b"late")

    @handles(Code.QUERY_MESSAGE)
    def refuses(self, request: Request) -> Response:
        raise RemotingError(ResponseCode.QUERY_NOT_FOUND, "no such message")

    @handles(Code.VIEW_MESSAGE_BY_ID)
    async def breaks(self, request: Request) -> Response:
        raise KeyError("a fault of ours")

    @handles(Code.HEART_BEAT, Code.UNREGISTER_CLIENT)
    def later(self, request: Request) -> None:
        self.seen.append(request)


@contextlib.asynccontextmanager
async def serving(handlers: object, *hooks: object, **settings: object) -> AsyncIterator[tuple[Server, str]]:
    options = ServerConfig.of({"serverSelectorThreads": 1, **settings}).engine_options()
    server = Server(options, hooks=hooks)  # type: ignore[arg-type]
    server.add(handlers)
    address = f"127.0.0.1:{server.listen('127.0.0.1', 0)}"
    try:
        yield server, address
    finally:
        await server.stop(drain=1.0)


@contextlib.asynccontextmanager
async def calling(**settings: object) -> AsyncIterator[Client]:
    client = Client(**settings)  # type: ignore[arg-type]
    try:
        yield client
    finally:
        await client.stop()


@pytest.mark.shows("RM-14", "RM-18", "RM-22")
@pytest.mark.parametrize("kind", [JSON, BINARY])
@in_loop
async def test_a_request_gets_the_answer_of_its_handler(kind: int) -> None:
    async with serving(Handlers()) as (_, address), calling(kind=kind) as client:
        header = GetMaxOffsetRequestHeader(topic="T", queue_id=3)
        response = await client.call(address, Code.GET_MAX_OFFSET, header=header, body=b"\0bytes")
        assert GetMaxOffsetResponseHeader.decode(response.fields).offset == 3
        assert (response.remark, response.body, response.is_response) == ("plain", b"\0bytes", True)


@pytest.mark.shows("RM-21", "RM-25")
@pytest.mark.parametrize(
    ("asked", "code", "remark"),
    [
        (Code.QUERY_MESSAGE, ResponseCode.QUERY_NOT_FOUND, "no such message"),
        (Code.VIEW_MESSAGE_BY_ID, ResponseCode.SYSTEM_ERROR, "KeyError: 'a fault of ours'"),
        (Code.SEND_MESSAGE, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, " request type 10 not supported"),
        (Code.GET_MAX_OFFSET, ResponseCode.SYSTEM_ERROR, "the header field topic is missing"),
    ],
)
@in_loop
async def test_what_a_handler_raises_is_a_code_and_a_remark(
    asked: Code, code: ResponseCode, remark: str
) -> None:
    async with serving(Handlers()) as (_, address), calling() as client:
        with pytest.raises(RemotingError) as caught:
            await client.call(address, asked)
        assert (caught.value.code, caught.value.remark) == (code, remark)
        response = await client.call(address, asked, accept=(code,))
        assert response.remark == remark


@in_loop
async def test_an_unexpected_exception_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Handlers()) as (_, address), calling() as client:
        with pytest.raises(RemotingError):
            await client.call(address, Code.VIEW_MESSAGE_BY_ID)
    assert any("breaks" in (record.exc_text or "") for record in caplog.records)


@dataclass
class Unsendable:
    """Answers that no frame can hold, beside one that can be sent."""

    answer: Response

    @handles(Code.QUERY_MESSAGE)
    def at_once(self, request: Request) -> Response:
        return self.answer

    @handles(Code.VIEW_MESSAGE_BY_ID)
    async def later(self, request: Request) -> Response:
        return self.answer

    @handles(Code.HEART_BEAT)
    def beats(self, request: Request) -> Response:
        return Response(body=b"alive")


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (Response(remark="half of \ud800"), r"surrogates not allowed"),
        (Response(body=bytes(17 << 20)), r"a frame has at most 16777216 bytes"),
    ],
)
@in_loop
async def test_an_answer_that_cannot_be_sent_is_a_refusal_and_the_requests_beside_it_are_served(
    answer: Response, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Unsendable(answer)) as (_, address), calling() as client:
        asked = [Code.QUERY_MESSAGE, Code.HEART_BEAT, Code.VIEW_MESSAGE_BY_ID, Code.HEART_BEAT] * 4
        accept = (ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR)
        answers = await asyncio.gather(*(client.call(address, code, accept=accept) for code in asked))
    for code, got in zip(asked, answers, strict=True):
        if code is Code.HEART_BEAT:
            assert got.body == b"alive"
        else:
            assert got.code == ResponseCode.SYSTEM_ERROR
            assert re.search(f"the answer cannot be sent: .*{trouble}", got.remark or "")
    assert "the answer to request 12" in caplog.text


@in_loop
async def test_requests_overtake_one_that_waits() -> None:
    handlers = Handlers()
    async with serving(handlers) as (_, address), calling() as client:
        waiting = asyncio.create_task(client.call(address, Code.GET_MIN_OFFSET))
        header = GetMaxOffsetRequestHeader(topic="T", queue_id=0)
        answers = await asyncio.gather(
            *(client.call(address, Code.GET_MAX_OFFSET, header=header, body=b"%d" % n) for n in range(200))
        )
        assert [answer.body for answer in answers] == [b"%d" % n for n in range(200)]
        assert not waiting.done()
        handlers.gate.set()
        assert (await waiting).body == b"late"


@pytest.mark.shows("RM-30")
@in_loop
async def test_no_more_requests_of_a_kind_are_under_way_than_may_wait_and_other_kinds_are_served() -> None:
    handlers = Handlers()
    async with (
        serving(handlers, adminBrokerThreadPoolQueueCapacity=10) as (server, address),
        calling() as flood,
        calling() as calm,
    ):
        slow = [
            asyncio.create_task(flood.call(address, Code.GET_MIN_OFFSET, body=bytes(100_000), timeout=20))
            for _ in range(100)
        ]
        await until(lambda: server.stats()["readsPaused"], "the limit")
        for _ in range(20):
            await calm.call(address, Code.QUERY_MESSAGE, accept=(ResponseCode.QUERY_NOT_FOUND,))
        assert handlers.waiting == 10
        handlers.gate.set()
        assert {answer.body for answer in await asyncio.gather(*slow)} == {b"late"}


@in_loop
async def test_silence_is_a_timeout_that_leaves_the_connection_usable() -> None:
    handlers = Handlers()
    async with serving(handlers) as (server, address), calling() as client:
        with pytest.raises(RemotingError, match=r"no answer from .* within 0.05 s") as caught:
            await client.call(address, Code.GET_MIN_OFFSET, timeout=0.05)
        assert caught.value.code is ResponseCode.RPC_TIME_OUT
        handlers.gate.set()
        assert (await client.call(address, Code.GET_MIN_OFFSET)).body == b"late"
        assert server.connections() == 1


@pytest.mark.shows("RM-24", "RM-33")
@in_loop
async def test_oneway_requests_arrive_and_are_not_answered() -> None:
    handlers = Handlers()
    async with serving(handlers) as (_, address), calling() as client:
        await client.notify(address, Code.HEART_BEAT, fields={"k": "v"}, body=b"b")
        await until(lambda: handlers.seen, "the request")
        assert (handlers.seen[0].oneway, handlers.seen[0].fields, handlers.seen[0].body) == (
            True,
            {"k": "v"},
            b"b",
        )


@pytest.mark.parametrize(("silent_seconds", "connections"), [(0.05, 2), (60.0, 1)])
@in_loop
async def test_a_connection_that_has_gone_silent_is_replaced(
    silent_seconds: float, connections: int, caplog: pytest.LogCaptureFixture
) -> None:
    accepted: list[asyncio.StreamWriter] = []

    async def hear_and_say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await reader.read()

    server = await asyncio.start_server(hear_and_say_nothing, "127.0.0.1", 0)
    address = "{}:{}".format(*server.sockets[0].getsockname())
    client = Client(silent_seconds=silent_seconds)
    for _ in range(2):
        with pytest.raises(RemotingError, match="no answer"):
            await client.call(address, Code.GET_MAX_OFFSET, timeout=0.2)
    await client.stop()
    for writer in accepted:
        writer.close()
    server.close()

    assert len(accepted) == connections
    assert ("gone silent" in caplog.text) == (connections == 2)


@pytest.mark.shows("RM-24")
@in_loop
async def test_a_handler_may_answer_later() -> None:
    handlers = Handlers()
    async with serving(handlers) as (server, address), calling() as client:
        call = asyncio.create_task(client.call(address, Code.HEART_BEAT))
        await until(lambda: handlers.seen, "the request")
        server.answer(handlers.seen[0], Response(body=b"at last"))
        assert (await call).body == b"at last"


@pytest.mark.shows("RM-18")
@in_loop
async def test_the_server_asks_its_client() -> None:
    handlers = Handlers()
    asked: list[Frame] = []

    async def answer(request: Frame) -> Frame:
        asked.append(request)
        return Frame(code=0, body=b"from the client")

    async with (
        serving(handlers) as (server, address),
        calling(
            handlers={Code.GET_CONSUMER_RUNNING_INFO: answer, Code.QUERY_MESSAGE: asked.append}
        ) as client,
    ):
        await client.notify(address, Code.HEART_BEAT)
        await until(lambda: handlers.seen, "the request")
        connection = handlers.seen[0].connection
        event = await server.call(connection, Code.GET_CONSUMER_RUNNING_INFO, body=b"who?")
        assert (event.code, event.body, asked[0].body) == (0, b"from the client", b"who?")
        unknown = await server.call(connection, Code.CONSUME_MESSAGE_DIRECTLY)
        assert unknown.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        header = NotifyConsumerIdsChangedRequestHeader(consumer_group="G")
        assert server.notify(connection, Code.QUERY_MESSAGE, header=header)
        await until(lambda: len(asked) == 2, "the notice")
        assert asked[1].fields == {"consumerGroup": "G"}


@in_loop
async def test_a_client_that_leaves_or_is_silent_fails_the_call_to_it() -> None:
    handlers = Handlers()
    silent = asyncio.Event()

    async def wait(request: Frame) -> Frame:
        await silent.wait()
        return Frame(code=0)

    async with serving(handlers) as (server, address):
        async with calling(handlers={Code.GET_CONSUMER_RUNNING_INFO: wait}) as client:
            await client.notify(address, Code.HEART_BEAT)
            await until(lambda: handlers.seen, "the request")
            connection = handlers.seen[0].connection
            with pytest.raises(RemotingError) as caught:
                await server.call(connection, Code.GET_CONSUMER_RUNNING_INFO, timeout=0.05)
            assert caught.value.code is ResponseCode.RPC_TIME_OUT
            call = asyncio.create_task(server.call(connection, Code.GET_CONSUMER_RUNNING_INFO))
            await asyncio.sleep(0)
        with pytest.raises(RemotingError) as caught:
            await call
        assert caught.value.code is ResponseCode.RPC_SEND_TO_CHANNEL_FAILED
        await until(lambda: not server.connections(), "the end of the connection")
        with pytest.raises(RemotingError):
            await server.call(connection, Code.GET_CONSUMER_RUNNING_INFO)
        assert not server.notify(connection, Code.HEART_BEAT)


@in_loop
async def test_a_call_that_timed_out_is_waited_for_no_longer() -> None:
    events: list[str] = []

    class Telling(Server):
        def _happened(self, event: Event) -> None:
            events.append(event.kind)
            super()._happened(event)

    async def say_nothing(request: Frame) -> None:
        return None

    server = Telling(ServerConfig(serverSelectorThreads=1).engine_options())
    handlers = Handlers()
    server.add(handlers)
    address = f"127.0.0.1:{server.listen('127.0.0.1', 0)}"
    async with calling(handlers={Code.GET_CONSUMER_RUNNING_INFO: say_nothing}) as client:
        await client.notify(address, Code.HEART_BEAT)
        await until(lambda: handlers.seen, "the request")
        with pytest.raises(RemotingError, match="did not answer"):
            await server.call(handlers.seen[0].connection, Code.GET_CONSUMER_RUNNING_INFO, timeout=0.05)
    await until(lambda: "closed" in events, "the end of the connection")
    assert events == ["opened", "closed"]
    await server.stop(drain=0.5)


@pytest.mark.shows("RM-17")
@in_loop
async def test_listeners_hear_of_every_connection(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, int]] = []

    def broken(event: Event) -> None:
        raise ValueError("a listener's own trouble")

    handlers = Handlers()
    async with serving(handlers) as (server, address):
        server.on_opened(broken)
        server.on_opened(lambda event: heard.append((event.kind, event.connection)))
        server.on_closed(lambda event: heard.append((event.kind, event.connection)))
        async with calling() as client:
            await client.notify(address, Code.HEART_BEAT)
            await until(lambda: handlers.seen, "the request")
            connection = handlers.seen[0].connection
            assert heard == [("opened", connection)]
        await until(lambda: len(heard) == 2, "the end of the connection")
        assert heard[1] == ("closed", connection)
    assert "a listener's own trouble" in caplog.text


@in_loop
async def test_a_closed_connection_is_opened_again_when_needed() -> None:
    handlers = Handlers()
    handlers.gate.set()
    async with serving(handlers) as (server, address), calling() as client:
        closed: list[Event] = []
        server.on_closed(closed.append)
        await client.call(address, Code.GET_MIN_OFFSET)
        client.disconnect(address)
        await until(lambda: closed, "the end of the first connection")
        assert (await client.call(address, Code.GET_MIN_OFFSET)).body == b"late"


@in_loop
async def test_a_server_that_goes_fails_what_waits_and_its_successor_is_found() -> None:
    handlers = Handlers()
    async with calling() as client:
        async with serving(handlers) as (server, address):
            waiting = asyncio.create_task(client.call(address, Code.HEART_BEAT))
            await until(lambda: handlers.seen, "the request")
            server.disconnect(handlers.seen[0].connection)
            with pytest.raises(RemotingError, match="was closed"):
                await waiting
        with pytest.raises(RemotingError, match="cannot connect to"):
            await client.call(address, Code.HEART_BEAT)
        second = Handlers()
        second.gate.set()
        options = ServerConfig(serverSelectorThreads=1).engine_options()
        successor = Server(options)
        successor.add(second)
        successor.listen("127.0.0.1", int(address.rpartition(":")[2]))
        assert (await client.call(address, Code.GET_MIN_OFFSET)).body == b"late"
        await successor.stop(drain=0.5)


@in_loop
async def test_tls_carries_the_same_frames() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    handlers = Handlers()
    handlers.gate.set()
    async with serving(handlers, tlsServerMode="enforcing") as (_, address):
        async with calling(tls=context) as client:
            assert (await client.call(address, Code.GET_MIN_OFFSET)).body == b"late"
        async with calling() as plain:
            with pytest.raises(RemotingError, match="was closed"):
                await plain.call(address, Code.GET_MIN_OFFSET)


class Watch:
    def __init__(self, trouble: str = "") -> None:
        self.heard: list[str] = []
        self.trouble = trouble

    def before(self, request: Request) -> None:
        self.heard.append(f"before {request.code}")
        if self.trouble == "before":
            raise RemotingError(ResponseCode.NO_PERMISSION, "not you")

    def after(self, request: Request, response: Response) -> None:
        self.heard.append(f"after {request.code} {int(response.code)}")
        if self.trouble == "after":
            raise ValueError("hook")


@pytest.mark.shows("RM-23", "RM-25")
@pytest.mark.parametrize(
    ("trouble", "code", "heard"),
    [
        ("", 0, ["before 31", "after 31 0"]),
        ("before", ResponseCode.NO_PERMISSION, ["before 31", "after 31 16"]),
        ("after", ResponseCode.SYSTEM_ERROR, ["before 31", "after 31 0"]),
    ],
)
@in_loop
async def test_hooks_stand_round_the_handler(trouble: str, code: int, heard: list[str]) -> None:
    handlers = Handlers()
    handlers.gate.set()
    watch = Watch(trouble)
    async with serving(handlers, watch) as (_, address), calling() as client:
        response = await client.call(address, Code.GET_MIN_OFFSET, accept=(code,))
        assert response.code == code
        assert watch.heard == heard


def test_two_handlers_of_one_code_are_a_mistake() -> None:
    dispatcher = Dispatcher()
    dispatcher.add(Handlers(gate=asyncio.Event()))
    with pytest.raises(ValueError, match="has two handlers"):
        dispatcher.add(Handlers(gate=asyncio.Event()))


@pytest.mark.parametrize("address", ["", "host", ":9876", "host:port", "host:99999"])
@in_loop
async def test_addresses_that_are_none_are_named(address: str) -> None:
    async with calling() as client:
        with pytest.raises(RemotingError, match="host:port"):
            await client.call(address, Code.HEART_BEAT)


@in_loop
async def test_a_peer_that_speaks_something_else_fails_the_call(caplog: pytest.LogCaptureFixture) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with calling() as client:
        with caplog.at_level(logging.WARNING), pytest.raises(RemotingError, match="was closed"):
            await client.call(f"127.0.0.1:{port}", Code.HEART_BEAT)
    assert "a frame cannot have" in caplog.text
    server.close()
    await server.wait_closed()


@in_loop
async def test_an_idle_connection_is_closed_by_the_client() -> None:
    handlers = Handlers()
    handlers.gate.set()
    async with serving(handlers) as (server, address), calling(idle_seconds=0.01) as client:
        await client.call(address, Code.GET_MIN_OFFSET)
        await until(lambda: not server.connections(), "the idle connection's end")
        assert (await client.call(address, Code.GET_MIN_OFFSET)).body == b"late"


@in_loop
async def test_go_away_sends_the_request_to_the_successor() -> None:
    """A server that closes says so; the request is sent again on a new connection."""

    class Leaving(Handlers):
        @handles(Code.SEND_MESSAGE)
        def send(self, request: Request) -> Response:
            self.seen.append(request)
            return Response(ResponseCode.GO_AWAY if len(self.seen) == 1 else ResponseCode.SUCCESS)

    handlers = Leaving()
    async with serving(handlers) as (_, address), calling() as client:
        await client.call(address, Code.SEND_MESSAGE)
        first, second = (request.connection for request in handlers.seen)
        assert first != second


@in_loop
async def test_a_server_that_leaves_sends_new_clients_away_and_serves_old_ones() -> None:
    class OfOldRelease:
        def before(self, address: str, request: Frame) -> None:
            request.version = version.V5_3_1

        def after(self, address: str, request: Frame, response: Frame) -> None:
            pass

    handlers = Handlers()
    handlers.gate.set()
    server = Server(ServerConfig(serverSelectorThreads=1).engine_options())
    server.add(handlers)
    address = f"127.0.0.1:{server.listen('127.0.0.1', 0)}"
    async with calling() as new, calling(hooks=(OfOldRelease(),)) as old:
        await new.call(address, Code.GET_MIN_OFFSET)
        stopping = asyncio.create_task(server.stop(0.5, go_away=3600))
        await asyncio.sleep(0)
        with pytest.raises(RemotingError, match="please go away") as caught:
            await new.call(address, Code.GET_MIN_OFFSET)
        assert caught.value.code is ResponseCode.GO_AWAY
        assert (await old.call(address, Code.GET_MIN_OFFSET)).body == b"late"
        stopping.cancel()
        await server.stop(0.5)


@in_loop
async def test_a_frame_that_no_server_takes_is_refused_here() -> None:
    async with serving(Handlers()) as (_, address), calling() as client:
        with pytest.raises(RemotingError, match="at most 16777216"):
            await client.call(address, Code.HEART_BEAT, body=bytes(16 << 20))


def test_the_published_signature() -> None:
    request = Frame(code=11, fields={"AccessKey": "ak", "queueId": "0", "topic": "T"}, body=b"body")
    assert signature(b"sk", request) == "Hgg5qvd+x4pcTBBxFgXCwTBfD5I="


@in_loop
async def test_a_signer_signs_every_request() -> None:
    handlers = Handlers()
    async with serving(handlers) as (_, address), calling(hooks=(Signer("ak", "sk", "token"),)) as client:
        await client.notify(address, Code.HEART_BEAT, fields={"topic": "T"}, body=b"body")
        await until(lambda: handlers.seen, "the request")
    fields = handlers.seen[0].fields
    signed = Frame(code=34, fields=dict(fields), body=b"body")
    assert fields["Signature"] == signature(b"sk", signed)
    assert (fields["AccessKey"], fields["SecurityToken"]) == ("ak", "token")
