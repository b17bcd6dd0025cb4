"""Working out, again and again, which queues this member of a group reads."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from tailfin.broker import names
from tailfin.client.consuming.members import Members
from tailfin.client.errors import ClientError, NoRoute
from tailfin.client.network import Network
from tailfin.client.pauses import pause
from tailfin.client.queues import Queue
from tailfin.client.rebalance import Strategy, share_of
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.client")

GAP_S = 1.0
"""How soon to look again when not everything could be settled."""


class Owner(Protocol):
    """Whoever reads the queues."""

    async def assign(self, topic: str, queues: Iterable[Queue]) -> bool:
        """Read exactly these queues of a topic; return whether that is so now."""

    async def forget_topics(self, subscribed: Iterable[str]) -> None:
        """Give up the queues of all other topics."""


class Rebalancer:
    """Looks who is in the group and gives this member its share: at once when told to, and now and then.

    Args:
        network: whom to ask.
        group: the group's name.
        strategy: how queues are shared; None: every member reads all.
        subscriptions: returns what is read, by topic.
        owner: is told the outcome.
        interval: seconds between two looks.
        gap: seconds until the next look when not everything could be settled.
    """

    def __init__(
        self,
        network: Network,
        group: str,
        strategy: Strategy | None,
        subscriptions: Callable[[], Mapping[str, SubscriptionData]],
        owner: Owner,
        *,
        interval: float,
        gap: float = GAP_S,
    ) -> None:
        self._network = network
        self._group = group
        self._strategy = strategy
        self._subscriptions = subscriptions
        self._owner = owner
        self._interval = interval
        self._gap = gap
        self._members = Members(network, group)
        self._wanted = asyncio.Event()
        self._missing: set[str] = set()
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look now and then."""
        self._task = asyncio.create_task(self._keep_looking())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def soon(self) -> None:
        """Look at once."""
        self._wanted.set()

    async def look(self) -> bool:
        """Settle who reads what now; return False when something could not be settled."""
        async with self._turn:
            subscriptions = self._subscriptions()
            await self._owner.forget_topics(subscriptions)
            # One topic after the other: each may move queues, and locks are asked for in bulk.
            settled = [await self._settle(topic) for topic in subscriptions]
            return all(settled)

    async def _keep_looking(self) -> None:
        balanced = True
        while True:
            await pause(self._wanted, self._interval if balanced else min(self._gap, self._interval))
            try:
                balanced = await self.look()
                await self._compare()
            except Exception:
                log.exception("group %s could not be balanced; the next try comes by itself", self._group)
                balanced = False

    async def _settle(self, topic: str) -> bool:
        try:
            route = await self._network.route(topic)
            self._missing.discard(topic)
            if self._strategy is None:
                return await self._owner.assign(topic, route.subscribe)
            ids = await self._members.ids(route)
            if ids is not None and self._network.client_id not in ids:
                # A broker that was restarted does not know us yet.
                await self._network.beat()
                ids = await self._members.ids(route)
            if ids is None:
                log.info("no broker of topic %s says who is in group %s", topic, self._group)
                return False
            mine = share_of(self._strategy, self._network.client_id, route.subscribe, ids)
            return await self._owner.assign(topic, mine)
        except NoRoute as error:
            # Once it is there, all of it is new.
            await self._owner.assign(topic, ())
            self._note_missing(topic, error)
            return False
        except (RemotingError, ClientError) as error:
            log.warning("topic %s of group %s could not be balanced: %s", topic, self._group, error)
            return False

    def _note_missing(self, topic: str, error: NoRoute) -> None:
        # Brokers make the retry topic with the first heartbeat of the group.
        if topic not in self._missing and not topic.startswith(names.RETRY_PREFIX):
            self._missing.add(topic)
            log.warning("group %s waits for its topic: %s", self._group, error)

    async def _compare(self) -> None:
        subscriptions = self._subscriptions()
        for topic in subscriptions:
            route = self._network.known_route(topic)
            if route is not None and self._strategy is not None:
                await self._members.compare_subscriptions(route, subscriptions)
                return
