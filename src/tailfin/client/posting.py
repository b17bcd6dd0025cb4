"""Messages that are sent together with others: where they go, and what follows a failure."""

import asyncio
from typing import Literal

from tailfin._engine import Outbox, Parcel, Receipt
from tailfin.client import names
from tailfin.client.checking import check_topic
from tailfin.client.errors import UNREACHABLE, ClientError, MessageRefused, NoBroker
from tailfin.client.given_up import GivenUp
from tailfin.client.letters import Letters
from tailfin.client.messages import Message
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.queues import Queue
from tailfin.client.retrying import ROUTE_CODES, Verdict, pause_before, share_of
from tailfin.client.routes import Route

LOOK_AGAIN_S = 1.0


class Posting:
    """Looks after what goes through an outbox by `post`, on the event loop.

    The engine collects messages into parcels, sends each to the next queue, and reports the parcels that
    failed: whether to try again, and where, is decided here.

    Args:
        network: whose routes and addresses count.
        outbox: the engine's.
        letters: chooses queues, and counts.
        options: when to try again, and for how long.
        given_up: is told of messages that were not stored.
    """

    def __init__(
        self,
        network: Network,
        outbox: Outbox,
        letters: Letters,
        options: ProducerOptions,
        given_up: GivenUp,
    ) -> None:
        self._network = network
        self._outbox = outbox
        self._letters = letters
        self._policy = options.policy
        self._seconds = options.timeout
        self._queue_count = options.default_queues
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._routes: dict[str, Route] = {}
        self._look_again: asyncio.TimerHandle | None = None
        self._pausing: dict[Parcel, asyncio.TimerHandle] = {}
        self._given_up = given_up
        self._closed = False
        network.carrier.decide(outbox, self._failed)
        network.carrier.watch(outbox, self._room.set)

    def try_post(self, message: Message) -> Receipt | Literal[False] | None:
        """Hand a message to the engine; False: there is no room; None: its topic has to be opened first."""
        try:
            return self._outbox.try_post(message)
        except ValueError as error:
            raise MessageRefused(str(error)) from None

    async def post(self, message: Message) -> Receipt:
        """Hand a message to the engine; wait while there is no room for it."""
        while True:
            self._room.clear()
            receipt = self.try_post(message)
            if receipt:
                return receipt
            if receipt is None:
                await self.open(message.topic)
            else:
                await self._room.wait()

    async def open(self, topic: str) -> None:
        """Find the queues of a topic."""
        check_topic(topic)
        wire_topic = names.wrap(self._network.options.namespace, topic)
        route = await self._network.publish_route(wire_topic, queue_count=self._queue_count)
        if not self.take_route(route):
            raise NoBroker(self._letters.queues(wire_topic)[0].broker, 0)

    def take_route(self, route: Route) -> bool:
        """Let messages go to the queues of a route; return whether there are any."""
        self._routes[route.topic] = route
        targets = []
        for _, broker, queue_id in route.publish:
            if address := self._network.addresses_of(broker).get(0):
                targets.append((address, broker, queue_id))
        away = {address for address, _, _ in targets if self._network.is_unreachable(address)}
        if away:
            self._look_again_soon()
        fit = [each for each in targets if each[0] not in away] or targets
        topic = self._letters.user_topic(route.topic)
        self._outbox.set_route(topic, fit, wire_topic=route.topic, every=targets)
        return bool(fit)

    def close(self) -> None:
        """Look no more, and try nothing again."""
        self._closed = True
        if self._look_again:
            self._look_again.cancel()
        for parcel, timer in self._pausing.items():
            timer.cancel()
            self._outbox.give_up(parcel)
        self._pausing.clear()

    def _look_again_soon(self) -> None:
        if self._look_again is None:
            self._look_again = self._loop.call_later(LOOK_AGAIN_S, self._look)

    def _look(self) -> None:
        self._look_again = None
        for route in self._routes.values():
            self.take_route(route)

    def _failed(self, parcel: Parcel) -> None:
        if self._closed:
            self._outbox.give_up(parcel)
            return
        code = parcel.code or 0
        if code in UNREACHABLE:
            self._network.mark_unreachable(parcel.address)
            self._look()
        elif code in ROUTE_CODES:
            self._network.look_for_routes()
        left = self._seconds - parcel.age
        if self._policy.judge(code, parcel.tries, parcel.remark) is Verdict.RETRY and left > 0:
            try:
                queue = (
                    Queue(parcel.topic, parcel.broker, parcel.queue_id)
                    if parcel.is_bound
                    else self._letters.next_queue(parcel.topic, parcel.broker)
                )
                address = self._network.address_of(queue.broker)
            except ClientError:
                pass
            else:
                tries_left = self._policy.tries - parcel.tries
                pause = pause_before(code, queue.broker == parcel.broker, left, tries_left)
                ms = max(round(share_of(left - pause, tries_left) * 1000), 1)
                self._letters.counts.add(retried=1)
                self._pausing[parcel] = self._loop.call_later(pause, self._retry, parcel, address, queue, ms)
                return
        self._outbox.give_up(parcel)
        self._given_up.add(parcel.count)

    def _retry(self, parcel: Parcel, address: str, queue: Queue, ms: int) -> None:
        del self._pausing[parcel]
        self._outbox.retry(parcel, address, queue.broker, queue.queue_id, ms)
