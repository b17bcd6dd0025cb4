"""The routes a client uses, kept fresh."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from tailfin.broker.names import DEFAULT_TOPIC
from tailfin.client.errors import NoNameServer, NoRoute
from tailfin.client.nameservers import NameServers
from tailfin.client.pauses import pause
from tailfin.client.routes import MASTER, Route, for_missing_topic, read_route, widened
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.client")

LOOK_GAP_S = 1.0
"""The least time between two looks at all routes, however often a server fails."""


class RouteTable:
    """Routes by topic; whatever was asked for once is looked up again from time to time."""

    def __init__(self, nameservers: NameServers, interval: float, changed: Callable[[Route], None]) -> None:
        self._nameservers = nameservers
        self._interval = interval
        self._changed = changed
        self._routes: dict[str, Route] = {}
        self._queue_counts: dict[str, int] = {}
        self._seen_missing: set[str] = set()
        self._asking: dict[str, asyncio.Task[Route | None]] = {}
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for changes."""
        self._task = asyncio.create_task(self._keep_fresh())

    async def stop(self) -> None:
        """Look no more."""
        tasks: list[asyncio.Task[Route | None] | asyncio.Task[None]] = [*self._asking.values()]
        if self._task:
            tasks.append(self._task)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def look_soon(self) -> None:
        """Look for changes now: a server has failed."""
        self._look.set()

    def known(self, topic: str) -> Route | None:
        """Return a route without asking."""
        return self._routes.get(topic)

    async def find(self, topic: str, *, fresh: bool = False) -> Route:
        """Return the route of a topic that exists; raise NoRoute, NoNameServer."""
        found = self._routes.get(topic)
        if found is None or found.is_default or fresh:
            found = await self._ask(topic)
        if found is None or found.is_default:
            raise NoRoute(topic, f"{self._who_knows()} no such topic; {_how_to_create(topic)}")
        return found

    async def find_to_publish(self, topic: str, queue_count: int, *, fresh: bool = False) -> Route:
        """Return the route of a topic, or the one it would have if a message made brokers create it."""
        found = self._routes.get(topic)
        # A route without queues to send to may have some again: a master is back, a topic is writable.
        if found is None or not found.publish or fresh:
            self._queue_counts.setdefault(topic, queue_count)
            found = await self._ask(topic)
        if found is None:
            raise NoRoute(
                topic,
                f"{self._who_knows()} no such topic, and brokers do not create topics by themselves "
                f"(autoCreateTopicEnable); {_how_to_create(topic)}",
            )
        return found

    def addresses_of(self, broker: str) -> Mapping[int, str]:
        """Return a broker's addresses by id."""
        addresses: dict[int, str] = {}
        for route in self._routes.values():
            addresses.update(route.brokers.get(broker, {}))
        return addresses

    def name_of(self, address: str) -> str | None:
        """Return the name of the broker at an address."""
        for route in self._routes.values():
            for name, addresses in route.brokers.items():
                if address in addresses.values():
                    return name
        return None

    def broker_addresses(self, *, masters_only: bool) -> set[str]:
        """Return the addresses of every broker in a route."""
        return {
            address
            for route in self._routes.values()
            for addresses in route.brokers.values()
            for broker_id, address in addresses.items()
            if broker_id == MASTER or not masters_only
        }

    def _who_knows(self) -> str:
        several = len(self._nameservers.addresses) > 1
        servers = ", ".join(self._nameservers.addresses)
        return f"nameservers {servers} know" if several else f"nameserver {servers} knows"

    async def _ask(self, topic: str) -> Route | None:
        asking = self._asking.get(topic)
        if asking is None:
            asking = self._asking[topic] = asyncio.create_task(self._fetch(topic))
            asking.add_done_callback(lambda task: self._asked(topic, task))
        # One who gives up waiting does not take the answer from the others.
        return await asyncio.shield(asking)

    def _asked(self, topic: str, task: asyncio.Task[Route | None]) -> None:
        self._asking.pop(topic, None)
        if not task.cancelled():
            # All who waited may have given up: then nobody else looks at the failure.
            task.exception()

    async def _fetch(self, topic: str) -> Route | None:
        route = await self._looked_up(topic)
        if route is not None and self._routes.get(topic) != route:
            self._routes[topic] = route
            self._changed(route)
        return route

    async def _looked_up(self, topic: str) -> Route | None:
        answer = await self._nameservers.find_route(topic)
        known = self._routes.get(topic)
        if answer is None and known and not known.is_default:
            # Brokers may be back in a moment; if the topic was deleted, they will refuse what is sent.
            return known
        if answer is not None and topic not in self._seen_missing:
            return read_route(topic, answer)
        count = self._queue_counts.get(topic)
        if count is None:
            return None
        template = await self._nameservers.find_route(DEFAULT_TOPIC)
        if answer is None:
            self._seen_missing.add(topic)
            return for_missing_topic(topic, template, count) if template else None
        route = read_route(topic, answer)
        # A first message makes one broker create the topic; others are to have their share, too.
        wider = widened(route, for_missing_topic(topic, template, count)) if template else route
        if wider == route:
            self._seen_missing.discard(topic)
        return wider

    async def _keep_fresh(self) -> None:
        while True:
            await pause(self._look, self._interval)
            for topic in tuple(self._routes):
                try:
                    await self._ask(topic)
                except NoNameServer as error:
                    log.warning("routes cannot be looked up, the known ones stay: %s", error)
                    break
                except RemotingError as error:
                    log.warning("the route of topic %s stays, a name server says: %s", topic, error)
            await asyncio.sleep(LOOK_GAP_S)


def _how_to_create(topic: str) -> str:
    return f"create it with tailfin.AdminClient(nameserver=...).topics.create({topic!r})"
