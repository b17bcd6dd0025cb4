"""A client's standing with brokers: they know it while its heartbeats come."""

import asyncio
import logging
from typing import TYPE_CHECKING

from tailfin.client.errors import got_no_answer
from tailfin.client.heartbeats import ShortBeats, heartbeat
from tailfin.client.pauses import pause
from tailfin.wire.bodies.clients import ConsumerData, ProducerData
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.clients import UnregisterClientRequestHeader

if TYPE_CHECKING:
    from tailfin.client.asking import Member
    from tailfin.client.network import Network

log = logging.getLogger("tailfin.client")

RETRY_S = 1.0
GOODBYE_S = 1.0


class Standing:
    """Heartbeats to the brokers in a network's routes.

    Each gets one every half minute, and within a second when it is new, or its connection was lost: until
    it has one, it neither counts this client in its groups nor can it ask anything of it.
    """

    def __init__(self, network: "Network") -> None:
        self._network = network
        self._short = ShortBeats() if network.options.heartbeat_v2 else None
        self._known_to: set[str] = set()
        self._troubled: set[str] = set()
        self._wanted = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._keep_beating())

    async def stop(self) -> None:
        """End."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def changed(self) -> None:
        """Hear that there are new members or new brokers."""
        self._wanted.set()

    def doubt(self, address: str) -> None:
        """Try a broker again soon that did not answer others."""
        if address in self._known_to:
            self._known_to.discard(address)
            self._wanted.set()

    def lost(self, address: str) -> None:
        """Hear that the connection to a server is gone, and with it all that the server knew."""
        self._known_to.discard(address)
        if self._short:
            self._short.forget(address)
        self._wanted.set()

    async def beat(self) -> None:
        """Send a heartbeat to every broker."""
        await self._beat_to(self._brokers())

    async def introduce(self) -> None:
        """Send a heartbeat to the brokers that do not know this client yet."""
        await self._beat_to(self._brokers() - self._known_to)

    async def goodbye(self, member: "Member") -> None:
        """Tell every broker that a member is gone; one that is not reached will find out."""
        # Whoever is hearing of the member just now has to hear that it is gone as well.
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=GOODBYE_S)
        mine = member.heartbeat()
        header = UnregisterClientRequestHeader(
            client_id=self._network.client_id,
            producer_group=mine.group_name if isinstance(mine, ProducerData) else None,
            consumer_group=mine.group_name if isinstance(mine, ConsumerData) else None,
        )
        told = (
            self._network.call(address, Code.UNREGISTER_CLIENT, header=header, timeout=GOODBYE_S)
            for address in self._known_to
        )
        for error in await asyncio.gather(*told, return_exceptions=True):
            if isinstance(error, RemotingError):
                log.info("a broker did not hear that group %s is left: %s", member.group, error)

    def _brokers(self) -> set[str]:
        members = self._network.members
        only_producers = all(isinstance(each.heartbeat(), ProducerData) for each in members)
        return self._network.broker_addresses(masters_only=only_producers) if members else set()

    async def _keep_beating(self) -> None:
        loop = asyncio.get_running_loop()
        interval = self._network.options.heartbeat_interval
        due = loop.time() + interval
        while True:
            unheard = bool(self._brokers() - self._known_to)
            await pause(self._wanted, min(RETRY_S, interval) if unheard else max(due - loop.time(), 0.0))
            if loop.time() >= due:
                due = loop.time() + interval
                await self.beat()
            else:
                await self._beat_to(self._brokers() - self._known_to)

    async def _beat_to(self, addresses: set[str]) -> None:
        beats = [asyncio.create_task(self._beat_one(address)) for address in addresses]
        self._under_way.update(beats)
        for beat in beats:
            beat.add_done_callback(self._under_way.discard)
        await asyncio.gather(*beats)

    async def _beat_one(self, address: str) -> None:
        network = self._network
        beat = heartbeat(network.client_id, [each.heartbeat() for each in network.members])
        if self._short:
            beat = self._short.next(address, beat)
        try:
            answer = await network.call(address, Code.HEART_BEAT, body=beat.to_json())
        except RemotingError as error:
            self._failed(address, error)
            return
        if self._short:
            self._short.answered(address, beat, answer.fields)
        self._known_to.add(address)
        if address in self._troubled:
            self._troubled.discard(address)
            log.info("broker %s takes heartbeats again", address)

    def _failed(self, address: str, error: RemotingError) -> None:
        # A refusal is an answer: to say the same again in a second would change nothing.
        self._known_to.discard(address) if got_no_answer(error) else self._known_to.add(address)
        level = logging.DEBUG if address in self._troubled else logging.WARNING
        self._troubled.add(address)
        log.log(level, "broker %s takes no heartbeat: %s", address, error)
