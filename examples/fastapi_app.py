"""A FastAPI application whose producer and consumer live as long as it does.

Run it with `uvicorn examples.fastapi_app:app`, then `curl -X POST localhost:8000/orders/42`.
`lifespan` is all that another ASGI framework, such as Starlette, needs of it.
"""

import contextlib
import os
from collections.abc import AsyncIterator
from typing import TypedDict

from fastapi import FastAPI, Request

from tailfin import Message, ReceivedMessage, aio

shipped: list[str] = []


class State(TypedDict):
    """What requests find in their state."""

    producer: aio.Producer


async def ship(message: ReceivedMessage) -> None:
    """Handle a message on the application's own event loop, so that it may await what requests may."""
    shipped.append(message.body.decode())


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[State]:
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


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{number}")
async def order(number: int, request: Request) -> dict[str, str]:
    sent = await request.state.producer.send(Message("WebTest", b"order %d" % number))
    return {"id": sent.message_id}
