"""Sends letters: one step after the other, waited for by asyncio or by a thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any

from tailfin._engine import Outbox, Receipt
from tailfin.client.errors import UNREACHABLE, ClientError, MessageRefused, NoBroker, SendTimeout
from tailfin.client.given_up import GivenUp
from tailfin.client.letters import Letter, Letters
from tailfin.client.network import Network
from tailfin.client.results import SendResult, result_of
from tailfin.client.retrying import ROUTE_CODES, STORED, Ended, Try, failure
from tailfin.client.routes import MASTER, Route
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

Step = Receipt | float | None
"""What to wait for: a receipt, some seconds, or (None) a look at the routes, which may have changed."""

Steps = Generator[Step, None, list[SendResult]]
"""What to wait for, one after the other; and at last the results."""

BEGUN_MAX = 1024
"""Letters that are delivered while nobody waits for them, as in RocketMQ's clients."""


class Delivery:
    """Delivers a producer's letters.

    Args:
        network: whose routes and addresses count.
        outbox: the engine's, which has the connections.
        letters: prepares them, and hears how they end.
        queue_count: how many queues a missing topic is created with.
        given_up: is told of messages that were not stored and that nobody may ask for.
    """

    def __init__(
        self, network: Network, outbox: Outbox, letters: Letters, queue_count: int, given_up: GivenUp
    ) -> None:
        self._network = network
        self._outbox = outbox
        self._letters = letters
        self._queue_count = queue_count
        self._given_up = given_up
        self._loop = asyncio.get_running_loop()
        self._begun: set[asyncio.Task[list[SendResult]]] = set()
        # No lock: Ctrl-C could interrupt a thread that holds it, and nobody would give it back.
        self._in_loop = 0
        self._in_threads: dict[int, int] = {}
        self._drains = 0
        self._ended = asyncio.Event()
        self._closed = False

    async def route(self, topic: str) -> Route:
        """Return where a topic's messages go."""
        return await self._network.publish_route(topic, queue_count=self._queue_count)

    async def deliver(self, letter: Letter) -> list[SendResult]:
        """Send a letter until a broker has acknowledged it, or no further try makes sense."""
        began = time.monotonic()
        with self._counted_in_loop(len(letter.messages)):
            await self.find_route(letter)
            with contextlib.closing(self._steps(letter, began)) as steps:
                try:
                    while True:
                        step = next(steps)
                        if isinstance(step, Receipt):
                            await self._network.carrier.done(step)
                        elif step is None:
                            await self.look_again(letter)
                        else:
                            await asyncio.sleep(step)
                except StopIteration as end:
                    return _results(end)

    async def begin(self, letter: Letter) -> asyncio.Task[list[SendResult]]:
        """Have a letter delivered, and wait only while too many are."""
        while len(self._begun) >= BEGUN_MAX:
            await asyncio.wait(self._begun, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self.deliver(letter))
        self._begun.add(task)
        task.add_done_callback(self._begun_ended)
        return task

    def _begun_ended(self, task: asyncio.Task[list[SendResult]]) -> None:
        self._begun.discard(task)
        if not task.cancelled() and task.exception():
            self._given_up.add(1)

    def deliver_here(
        self, letter: Letter, wait_for: Callable[[Coroutine[Any, Any, None]], None]
    ) -> list[SendResult]:
        """Do so in this thread, which waits; `wait_for` runs a coroutine where routes are looked up."""
        began = time.monotonic()
        with self._counted_here(len(letter.messages)):
            if not self._knows_queues(letter.topic):
                wait_for(self.find_route(letter))
            with contextlib.closing(self._steps(letter, began)) as steps:
                try:
                    while True:
                        step = next(steps)
                        if isinstance(step, Receipt):
                            step.wait()
                        elif step is None:
                            wait_for(self.look_again(letter))
                        else:
                            time.sleep(step)
                except StopIteration as end:
                    return _results(end)

    async def find_route(self, letter: Letter) -> None:
        """Look up a letter's route, in the time that the letter has."""
        if self._knows_queues(letter.topic):
            return
        try:
            async with asyncio.timeout(letter.seconds):
                await self.route(letter.topic)
        except TimeoutError:
            text = f"topic {letter.topic!r}: no name server said within {letter.seconds:g} s where it is"
            raise SendTimeout(text, code=ResponseCode.RPC_TIME_OUT, tries=0) from None

    def _knows_queues(self, topic: str) -> bool:
        route = self._network.known_route(topic)
        return route is not None and bool(route.publish)

    async def look_again(self, letter: Letter) -> None:
        """Ask for a letter's route although one is known: it may lack a broker that is new."""
        with contextlib.suppress(TimeoutError, ClientError, RemotingError):
            async with asyncio.timeout(letter.seconds):
                await self._network.publish_route(letter.topic, queue_count=self._queue_count, fresh=True)

    @property
    def under_way(self) -> int:
        """How many messages have not arrived yet."""
        return self._in_loop + sum(tuple(self._in_threads.values()))

    def end_here(self) -> None:
        """Count nothing more for this thread, idle now: Ctrl-C may have kept it from saying so."""
        self._in_threads.pop(threading.get_ident(), None)

    def close(self) -> None:
        """Try nothing again: what is under way ends with its next failure."""
        self._closed = True

    async def drain(self, seconds: float | None) -> bool:
        """Wait for what is under way; return whether all of it has ended."""
        self._drains += 1
        try:
            async with asyncio.timeout(seconds):
                while self.under_way:
                    self._ended.clear()
                    if self.under_way:
                        await self._ended.wait()
        except TimeoutError:
            pass
        finally:
            self._drains -= 1
        return not self.under_way

    def _steps(self, letter: Letter, now: float) -> Steps:
        try:
            receipts = yield from self._tries(letter, now)
        except BaseException as error:
            self._letters.lost(letter, error)
            raise
        topic = self._letters.user_topic(letter.topic)
        results = [result_of(each, topic) for each in receipts]
        self._letters.arrived(letter, results)
        return results

    def _tries(self, letter: Letter, now: float) -> Generator[Step, None, list[Receipt]]:
        receipts: list[Receipt] = []
        looked = False
        flow = letter.flow(now)
        made = next(flow)
        while True:
            if made.pause:
                yield made.pause
            broker = made.queue.broker
            address = self._network.addresses_of(broker).get(MASTER)
            if address is None and not looked:
                looked = True
                yield None
                address = self._network.addresses_of(broker).get(MASTER)
            began = time.monotonic()
            if address is None:
                text = str(NoBroker(broker, MASTER))
                ended = Ended(ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, text, began)
            else:
                receipts = self._try(letter, made, address, receipts)
                yield receipts[0]
                ended = Ended(receipts[0].code or 0, receipts[0].remark, time.monotonic())
                self._note(made, address, ended, began)
            if self._closed and ended.code not in STORED:
                raise failure(ended, made.queue, receipts[0].tries if receipts else 1, letter.seconds)
            try:
                made = flow.send(ended)
            except StopIteration:
                return receipts
            self._letters.counts.add(retried=1)

    def _try(self, letter: Letter, made: Try, address: str, receipts: list[Receipt]) -> list[Receipt]:
        outbox, (topic, broker, queue_id) = self._outbox, made.queue
        ms = max(round(made.seconds * 1000), 1)
        if receipts:
            # The same parcel: what was stored though its answer was lost has the same message id.
            outbox.retry(receipts[0].parcel, address, broker, queue_id, ms)
            return receipts
        try:
            if len(letter.messages) > 1:
                return outbox.send_batch(
                    letter.messages, address, broker, queue_id, ms, oneway=letter.oneway, wire_topic=topic
                )
            message = letter.messages[0]
            return [
                outbox.send(message, address, broker, queue_id, ms, oneway=letter.oneway, wire_topic=topic)
            ]
        except ValueError as error:
            raise MessageRefused(str(error)) from None

    def _note(self, made: Try, address: str, ended: Ended, began: float) -> None:
        self._letters.tried(made.queue.broker, ended, began)
        if self._closed:
            return
        if ended.code in UNREACHABLE:
            self._loop.call_soon_threadsafe(self._network.mark_unreachable, address)
        elif ended.code in ROUTE_CODES:
            self._loop.call_soon_threadsafe(self._network.look_for_routes)

    @contextlib.contextmanager
    def _counted_in_loop(self, count: int) -> Iterator[None]:
        self._in_loop += count
        try:
            yield
        finally:
            self._in_loop -= count
            self._ended.set()

    @contextlib.contextmanager
    def _counted_here(self, count: int) -> Iterator[None]:
        self._in_threads[threading.get_ident()] = count
        try:
            yield
        finally:
            self.end_here()
            if self._drains:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                    self._loop.call_soon_threadsafe(self._ended.set)


def _results(end: StopIteration) -> list[SendResult]:
    results: list[SendResult] = end.value
    return results
