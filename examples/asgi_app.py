"""A web application whose producer and consumer live as long as it does.

`lifespan` is all you need with FastAPI or Starlette:

    app = FastAPI(lifespan=lifespan)

    @app.post("/orders/{number}")
    async def order(number: int, request: Request):
        sent = await request.state.producer.send(Message("WebTest", b"order %d" % number))
        return {"id": sent.message_id}

Below is the same without any framework: a plain ASGI application, for `uvicorn examples.asgi_app:app`.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypedDict

from tailfin import Message, ReceivedMessage, aio

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

shipped: list[str] = []


class State(TypedDict):
    """What requests find in their state."""

    producer: aio.Producer


async def ship(message: ReceivedMessage) -> None:
    """Handle a message on the application's own event loop, so that it may await what requests may."""
    shipped.append(message.body.decode())


@contextlib.asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[State]:
    nameserver = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
    async with (
        aio.Producer("web-producer", nameserver=nameserver) as producer,
        aio.PushConsumer(
            "web-consumer",
            nameserver=nameserver,
            subscribe={"WebTest": "*"},
            handler=ship,
            consume_from="first",
        ),
    ):
        yield {"producer": producer}
    # Here, before the server ends: handlers have finished, and how far the group is has been written down.


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await live(scope, receive, send)
    else:
        producer: aio.Producer = scope["state"]["producer"]
        sent = await producer.send(Message("WebTest", scope["path"].removeprefix("/orders/").encode()))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": sent.message_id.encode()})


async def live(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    await receive()
    async with lifespan(app) as state:
        scope["state"].update(state)
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
