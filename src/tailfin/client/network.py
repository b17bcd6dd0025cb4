"""What producers, consumers and tools stand on: requests, routes, and the client's standing with brokers."""

import asyncio
import logging
from collections.abc import Awaitable, Collection, Mapping
from types import TracebackType
from typing import Self, TypeVar

from tailfin.client import ids, routes
from tailfin.client.asking import ASKED_BY_BROKERS, Member, ask_members
from tailfin.client.carrying import Carrier
from tailfin.client.errors import ClientError, ClientStopped, NoBroker, got_no_answer
from tailfin.client.hooks import RequestHook, overriding
from tailfin.client.nameservers import NameServers
from tailfin.client.options import ClientOptions
from tailfin.client.queues import Queue
from tailfin.client.route_table import RouteTable
from tailfin.client.routes import MASTER, Route
from tailfin.client.standing import Standing
from tailfin.remoting.client import Client, ClientHook
from tailfin.remoting.signing import Signer
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.header import Header

log = logging.getLogger("tailfin.client")

T = TypeVar("T")


class Network:
    """A client's connections and what it knows of its cluster; used inside a running event loop.

    Example:
        ```python
        async with Network(ClientOptions(nameserver="127.0.0.1:9876")) as network:
            route = await network.route("orders")
        ```
    """

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        names = ids.identity(host=options.host, instance=options.instance, unit=options.unit)
        self.client_id = names.client_id
        self.stable_id = names.stable_id
        tls = options.tls_settings()
        self._client = Client(
            handlers=dict.fromkeys(ASKED_BY_BROKERS, self._asked),
            hooks=request_hooks(options),
            tls=tls.context() if tls else None,
            connect_seconds=options.connect_timeout,
            idle_seconds=options.idle_timeout,
            lost=self._lost,
        )
        self.nameservers = NameServers(options.nameservers(), self._client, options.request_timeout)
        self._routes = RouteTable(self.nameservers, options.route_interval, self._route_changed)
        self._standing = Standing(self)
        self.carrier = Carrier(options)
        self._members: list[Member] = []
        self._unreachable: set[str] = set()
        self._running = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Begin to look after routes and heartbeats; nothing is sent yet."""
        if not self._running:
            self._running = True
            self._loop = asyncio.get_running_loop()
            self._routes.start()
            self._standing.start()

    async def stop(self) -> None:
        """Say goodbye for members that did not leave, and close every connection."""
        self._running = False
        for member in tuple(self._members):
            await self.leave(member)
        await self._standing.stop()
        await self._routes.stop()
        await self.carrier.stop()
        await self._client.stop()

    def check_loop(self) -> None:
        """Raise ClientError in another event loop, where nothing would ever be heard of."""
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            raise ClientError(
                "the client was started in another event loop: make one for each loop, or use the "
                "class of the same name in `tailfin` without `aio`, which needs none"
            )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    # Requests

    async def call(
        self,
        address: str,
        code: int,
        *,
        header: Header | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float | None = None,
        accept: Collection[int] = (ResponseCode.SUCCESS,),
    ) -> Frame:
        """Send a request to a broker and await its response; see `remoting.Client.call`."""
        self.check_loop()
        seconds = self.options.request_timeout if timeout is None else timeout
        sent = self._client.call(
            address, code, header=header, fields=fields, body=body, timeout=seconds, accept=accept
        )
        return await self._watched(address, sent)

    async def notify(
        self,
        address: str,
        code: int,
        *,
        header: Header | None = None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> None:
        """Send a request that has no answer."""
        seconds = self.options.request_timeout if timeout is None else timeout
        sent = self._client.notify(address, code, header=header, fields=fields, body=body, timeout=seconds)
        await self._watched(address, sent)

    async def _watched(self, address: str, sent: Awaitable[T]) -> T:
        try:
            result = await sent
        except RemotingError as error:
            if got_no_answer(error):
                self.mark_unreachable(address)
            raise
        self.mark_reachable(address)
        return result

    def mark_unreachable(self, address: str) -> None:
        """Use other servers, where there are some, until this one answers again."""
        if address not in self._unreachable:
            self._unreachable.add(address)
            self._routes.look_soon()
            self._standing.doubt(address)

    def is_unreachable(self, address: str) -> bool:
        """Whether a server did not answer when it was asked last."""
        return address in self._unreachable

    def mark_reachable(self, address: str) -> None:
        """Note that a server answers."""
        self._unreachable.discard(address)

    # Routes

    async def route(self, topic: str, *, fresh: bool = False) -> Route:
        """Return a topic's route, from the cache unless a fresh one is asked for.

        Raises:
            NoRoute: the topic does not exist.
            NoNameServer: nobody could say.
        """
        self._check_running()
        return await self._routes.find(topic, fresh=fresh)

    async def publish_route(self, topic: str, *, queue_count: int = 4, fresh: bool = False) -> Route:
        """Return a topic's route for sending; a missing topic has the route brokers would give it."""
        self._check_running()
        return await self._routes.find_to_publish(topic, queue_count, fresh=fresh)

    def known_route(self, topic: str) -> Route | None:
        """Return a topic's route if it is in the cache; any thread may ask."""
        return self._routes.known(topic)

    def look_for_routes(self) -> None:
        """Look soon whether routes have changed: a broker refused what its route allows."""
        self._routes.look_soon()

    async def publish_queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that a topic's messages are sent to."""
        return (await self.publish_route(topic)).publish

    async def subscribe_queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that a topic's messages are read from."""
        return (await self.route(topic)).subscribe

    def addresses_of(self, broker: str) -> Mapping[int, str]:
        """Return a broker's addresses by id, as far as this client's routes tell."""
        return self._routes.addresses_of(broker)

    def address_of(self, broker: str, broker_id: int = MASTER) -> str:
        """Return the address of a broker's master, or of the member with an id; raise NoBroker."""
        try:
            return self.addresses_of(broker)[broker_id]
        except KeyError:
            raise NoBroker(broker, broker_id) from None

    def name_of(self, address: str) -> str:
        """Return the name of the broker at an address; the address itself when no route has it."""
        return self._routes.name_of(address) or address

    def master_or_slave(self, broker: str, preferred: int = MASTER) -> tuple[int, str]:
        """Return id and address of the member of a broker to read from; raise NoBroker.

        The preferred one unless it is gone or does not answer, then the master, then any slave.
        """
        found = routes.reading_address(self.addresses_of(broker), preferred, self._unreachable)
        if found is None:
            raise NoBroker(broker)
        return found

    def broker_addresses(self, *, masters_only: bool = False) -> set[str]:
        """Return the addresses of all brokers in this client's routes."""
        return self._routes.broker_addresses(masters_only=masters_only)

    # Members

    @property
    def members(self) -> tuple[Member, ...]:
        """Who has joined."""
        return tuple(self._members)

    def join(self, member: Member) -> None:
        """Take part: heartbeats speak of the member, and it hears of routes and of brokers' requests."""
        self._check_running()
        kind = type(member.heartbeat())
        for other in self._members:
            if other.group == member.group and type(other.heartbeat()) is kind:
                raise ClientError(
                    f"this client has a member of group {member.group!r} already: use another name"
                )
        self._members.append(member)
        self._standing.changed()

    async def leave(self, member: Member) -> None:
        """End it: brokers are told, so that others take over at once."""
        if member in self._members:
            self._members.remove(member)
            await self._standing.goodbye(member)

    async def beat(self) -> None:
        """Send a heartbeat to every broker now, and wait for their answers."""
        await self._standing.beat()

    async def introduce(self) -> None:
        """Have every broker know this client before it is asked for something that needs it."""
        await self._standing.introduce()

    # What happens by itself

    async def _asked(self, request: Frame) -> Frame | None:
        return await ask_members(self.members, request, self.client_id)

    def _route_changed(self, route: Route) -> None:
        self._standing.changed()
        for member in self.members:
            member.route_changed(route)

    def _lost(self, address: str) -> None:
        if self._running and address not in self.nameservers.addresses:
            log.info("the connection to %s was lost", address)
            self._standing.lost(address)
            self._routes.look_soon()

    def _check_running(self) -> None:
        if not self._running:
            raise ClientStopped("the client is not running: call start(), or use it in a `with` block")


def request_hooks(options: ClientOptions) -> tuple[ClientHook, ...]:
    """Return what sees every control request: the user's hooks, and whoever signs."""
    hooks: list[ClientHook] = [
        RequestHook(each) for each in overriding(options.hooks, "before_request", "after_response")
    ]
    if options.access_key and options.secret_key:
        # The last one: it signs what the others add.
        hooks.append(Signer(options.access_key, options.secret_key, options.security_token))
    return tuple(hooks)
