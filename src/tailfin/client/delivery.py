"""Sends letters from asyncio: the waiting that `letters` leaves out."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

from tailfin.client.errors import NoBroker, SendTimeout
from tailfin.client.letters import Letter, Letters
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.results import SendResult, SendStatus
from tailfin.client.retrying import Ended, Try
from tailfin.client.routes import Route
from tailfin.client.sending import Reply, send_once
from tailfin.wire.codes import ResponseCode


class Delivery:
    """Delivers a producer's letters."""

    def __init__(self, network: Network, group: str, options: ProducerOptions, letters: Letters) -> None:
        self._network = network
        self._group = group
        self._options = options
        self._letters = letters
        self._under_way = 0
        self._at_rest = asyncio.Event()

    async def drain(self, seconds: float) -> bool:
        """Wait for what is under way; return whether all of it has ended."""
        self._at_rest.clear()
        if self._under_way:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._at_rest.wait()
        return not self._under_way

    @property
    def under_way(self) -> int:
        """How many letters have not arrived yet."""
        return self._under_way

    async def route(self, topic: str) -> Route:
        """Return where a topic's messages go."""
        return await self._network.publish_route(topic, queue_count=self._options.default_queues)

    async def deliver(self, letter: Letter, *, oneway: bool = False) -> list[SendResult]:
        """Send a letter until a broker has acknowledged it, or no further try makes sense."""
        with self._counted():
            try:
                results = await self._tried_until_stored(letter, oneway=oneway)
            except BaseException as error:
                self._letters.lost(letter, error)
                raise
            self._letters.arrived(letter, results)
            return results

    async def _tried_until_stored(self, letter: Letter, *, oneway: bool) -> list[SendResult]:
        began = time.monotonic()
        try:
            async with asyncio.timeout(letter.seconds):
                await self.route(letter.topic)
        except TimeoutError:
            text = f"topic {letter.topic!r}: no name server said within {letter.seconds:g} s where it is"
            raise SendTimeout(text, code=ResponseCode.RPC_TIME_OUT, tries=0) from None
        flow = letter.flow(began)
        made = next(flow)
        while True:
            began = time.monotonic()
            reply = await self._try(letter, made, oneway=oneway)
            ended = Ended(reply.code, reply.remark, time.monotonic())
            self._letters.tried(letter, made, ended, began)
            try:
                made = flow.send(ended)
            except StopIteration:
                return self._results(letter, made, reply)
            self._letters.counts.retried += 1

    async def _try(self, letter: Letter, made: Try, *, oneway: bool) -> Reply:
        try:
            address = self._network.address_of(made.queue.broker)
        except NoBroker as error:
            return Reply(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, str(error), [])
        return await send_once(
            self._network,
            self._group,
            self._options,
            letter.messages,
            made.queue,
            address,
            made.seconds,
            oneway=oneway,
        )

    def _results(self, letter: Letter, made: Try, reply: Reply) -> list[SendResult]:
        fields = reply.fields
        queue = self._letters.user_queue(
            letter.topic, made.queue.broker, int(fields.get("queueId", made.queue.queue_id))
        )
        stored = fields.get("msgId", "").split(",")
        return [
            SendResult(
                SendStatus(reply.code),
                message_id,
                stored[place] if place < len(stored) else "",
                queue,
                int(fields.get("queueOffset", -1)) + place,
                fields.get("transactionId"),
                fields.get("MSG_REGION", "DefaultRegion"),
                fields.get("TRACE_ON") != "false",
                fields.get("recallHandle"),
            )
            for place, message_id in enumerate(reply.message_ids)
        ]

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._at_rest.set()
