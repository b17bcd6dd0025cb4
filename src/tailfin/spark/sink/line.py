"""A process's line to a cluster: a producer that its tasks share, and what the driver asks."""

from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar

from tailfin._engine import Courier, Outbox
from tailfin.client import producer
from tailfin.client.blocking.portal import Portal
from tailfin.client.messages import ReceivedMessage
from tailfin.client.network import Network
from tailfin.client.per_process import PerProcess
from tailfin.client.production import Production
from tailfin.client.transactions import Transaction
from tailfin.spark.sink.decisions import BatchName, History
from tailfin.spark.sink.options import SinkOptions
from tailfin.spark.sink.orphans import Orphans

T = TypeVar("T")


class Line:
    """A running producer and its connections, for the options of a write.

    PySpark forks its workers and keeps them for later tasks, so a producer is started once in each process,
    by the first that needs it, and runs until the process ends.
    """

    _started: ClassVar[PerProcess[tuple[str, str], tuple[Portal, producer.Producer]]] = PerProcess()

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self._orphans = Orphans(self._look)
        key = options.group, repr(sorted(options.producer_keywords().items()))
        self._portal, self._core = self._started.get(key, lambda: Portal.opened_for(self._start()))

    async def _start(self) -> producer.Producer:
        keywords = self.options.producer_keywords()
        keywords["check"] = self._fate
        started = producer.Producer(self.options.group, **keywords)
        await started.start()
        return started

    async def _fate(self, message: ReceivedMessage) -> Transaction:
        """Tell a broker that asks what is to become of a half."""
        return await self._orphans.fate(message)

    async def _look(self, name: BatchName) -> History:
        # It stands on a line itself.
        from tailfin.spark.sink.decision_log import DecisionLog

        return await DecisionLog(self, name.query).look(name.batch)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the connections live, and wait for it."""
        return self._portal.call(work)

    @property
    def group(self) -> str:
        """The producer group, with the namespace."""
        return self._core.group

    @property
    def producer(self) -> producer.Producer:
        """The producer, for what is sent message by message: see `run`."""
        return self._core

    @property
    def production(self) -> Production:
        """The producer's parts."""
        return self._core.running

    @property
    def network(self) -> Network:
        """The producer's network: see `run`."""
        return self.production.network

    @property
    def outbox(self) -> Outbox:
        """What the engine sends."""
        return self.production.outbox

    @property
    def courier(self) -> Courier:
        """The engine's connections."""
        return self.network.carrier.courier

    def address_of(self, broker: str, topic: str) -> str:
        """Return the address of a broker that has a topic, as brokers know it."""
        return self.run(self._address_of(broker, topic))

    async def _address_of(self, broker: str, topic: str) -> str:
        if not self.network.addresses_of(broker):
            await self.network.route(topic, fresh=True)
        return self.network.address_of(broker)
