"""Request and reply, with a real broker between two producers."""

import asyncio
from collections.abc import Iterator

import pytest

from tailfin import Message, aio
from tailfin.client.errors import ClientError, RequestTimeout
from tailfin.testing import Cluster, cluster
from tests.unit.client.reading import received, stored
from tests.unit.loops import in_loop, until


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as node:
        yield node


def test_a_reply_reaches_the_one_who_asked(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with (
            aio.Producer("askers", nameserver=running.namesrv) as asker,
            aio.Producer("tellers", nameserver=running.namesrv) as teller,
        ):
            asking = [
                asyncio.create_task(asker.request(Message("prices", text), timeout=20))
                for text in (b"apples", b"pears")
            ]
            await until(lambda: len(stored(running, "prices")) == 2, "both requests")
            for request in received(running, "prices"):
                await teller.reply(
                    request, b"2.50 for " + request.body, tags="price", properties={"in": "EUR"}
                )
            answers = await asyncio.gather(*asking)
        assert [each.body for each in answers] == [b"2.50 for apples", b"2.50 for pears"]
        assert answers[0].tags == "price"
        assert answers[0].property("in") == "EUR"

    check()


def test_a_request_without_reply_ends_and_says_what_may_be_missing(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("askers", nameserver=running.namesrv) as asker:
            await asker.queues("echo")
            with pytest.raises(RequestTimeout, match=r"does a consumer .* call producer\.reply"):
                await asker.request(Message("echo", b"hello"), timeout=2.0)

    check()


def test_a_message_that_is_no_request_cannot_be_replied_to(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with aio.Producer("tellers", nameserver=running.namesrv) as teller:
            await teller.send(Message("plain", b"x"))
            await until(lambda: stored(running, "plain"), "the message")
            with pytest.raises(ClientError, match="was not sent with `request`"):
                await teller.reply(received(running, "plain")[0], b"?")

    check()
