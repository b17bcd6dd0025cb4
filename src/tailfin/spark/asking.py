"""What planning asks of name servers and brokers: blocking, one network for each process and cluster."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from tailfin.arrow.ranges import GROUP
from tailfin.client.blocking.portal import Portal
from tailfin.client.consuming.offsets import RemoteOffsets
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.pulling import Pulled, pull_once
from tailfin.client.consuming.subscriptions import subscription
from tailfin.client.errors import ClientError, NoRoute, got_no_answer
from tailfin.client.names import unwrap, wrap
from tailfin.client.network import Network
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.per_process import PerProcess
from tailfin.client.queues import Queue
from tailfin.spark.offsets import Offsets, said
from tailfin.spark.places import Ends
from tailfin.spark.selection import Selection
from tailfin.spark.weighing import SAMPLE
from tailfin.wire.bodies.stats import TopicStatsTable
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms
from tailfin.wire.headers.topics import GetTopicStatsInfoRequestHeader

log = logging.getLogger("tailfin.spark")

T = TypeVar("T")

A_DAY_S = 86_400.0


class Cluster:
    """A cluster that planning asks. Topics have the names that users give them, without namespace.

    PySpark forks its workers, so what was opened before a fork is left alone and opened again: see `of`.
    """

    _open: ClassVar[PerProcess[ClientOptions, "Cluster"]] = PerProcess()

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._namespace = self._options.namespace
        self._groups: set[str] = set()
        self._portal, self._network = Portal.opened_for(self._start())

    @classmethod
    def of(cls, keywords: ClientKeywords) -> "Cluster":
        """Return the cluster that these options reach; the first to ask in a process opens it."""
        options = ClientOptions(**keywords)
        return cls._open.get(options, lambda: cls(options))

    @classmethod
    def stop_all(cls) -> None:
        """Stop what `of` opened, for a process that goes on without it."""
        for cluster in cls._open.take_all():
            try:
                cluster._run(cluster._network.stop())
            finally:
                cluster._portal.close()

    async def _start(self) -> Network:
        # Names are wrapped here, where it is known which of them are topics; and routes are asked for anew
        # each time, so nobody has to look for changes of those of a query that ended.
        network = Network(replace(self._options, namespace=None, route_interval=A_DAY_S))
        await network.start()
        return network

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._portal.call(work)

    def queues(self, chosen: Selection, *, patient: bool = False) -> dict[Queue, Ends]:
        """Return the queues that are read, with their ends.

        Args:
            chosen: what is read.
            patient: leave out queues of brokers that do not answer, unless none does.
        """
        return self._run(self._queues(chosen, patient))

    async def _queues(self, chosen: Selection, patient: bool) -> dict[Queue, Ends]:
        found: dict[Queue, Ends] = {}
        topics = chosen.topics if chosen.pattern is None else chosen.matching(await self._names())
        tables = await asyncio.gather(*(self._topic(topic, patient) for topic in topics))
        for table in tables:
            found.update({queue: ends for queue, ends in table.items() if chosen.wants(queue)})
        if chosen.queues is not None and not patient:
            for queue in sorted(chosen.queues - found.keys()):
                raise ClientError(f"assign names {said(queue)}, which is not there")
        return found

    async def _names(self) -> list[str]:
        from tailfin.admin.servers import Servers
        from tailfin.admin.topics import Topics

        names = await Topics(Servers(self._network)).list()
        prefix = f"{self._namespace}%" if self._namespace else ""
        return [unwrap(self._namespace, name) for name in names if name.startswith(prefix)]

    async def _topic(self, topic: str, patient: bool) -> dict[Queue, Ends]:
        wrapped = wrap(self._namespace, topic)
        route = await self._network.route(wrapped, fresh=True)
        if not route.subscribe:
            raise NoRoute(
                topic, "it has no queue that may be read; `tailfin topic show` tells its permission"
            )
        brokers = sorted({queue.broker for queue in route.subscribe})
        answers = await asyncio.gather(
            *(self._stats(broker, wrapped) for broker in brokers), return_exceptions=True
        )
        known: dict[Queue, Ends] = {}
        failed: list[BaseException] = []
        for broker, answer in zip(brokers, answers, strict=True):
            if isinstance(answer, BaseException):
                log.warning("%s does not say how far topic %s goes: %s", broker, topic, answer)
                failed.append(answer)
            else:
                known.update(answer)
        if failed and not (patient and known and all(map(_silent, failed))):
            raise failed[0]
        queues = [queue for queue in route.subscribe if queue in known]
        return {queue._replace(topic=topic): known[queue] for queue in queues}

    async def _stats(self, broker: str, wrapped: str) -> dict[Queue, Ends]:
        _, address = self._network.master_or_slave(broker)
        header = GetTopicStatsInfoRequestHeader(topic=wrapped)
        answer = await self._network.call(address, Code.GET_TOPIC_STATS_INFO, header=header)
        table = TopicStatsTable.from_json(answer.body).offset_table
        return {
            Queue.of_body(queue): Ends(max(ends.min_offset, 0), max(ends.max_offset, 0))
            for queue, ends in table.items()
        }

    def at_times(self, times: Mapping[Queue, int]) -> dict[Queue, int]:
        """Return the offset of the first message stored at a time or later, for each queue."""
        return self._run(self._at_times(times))

    async def _at_times(self, times: Mapping[Queue, int]) -> dict[Queue, int]:
        positions = Positions(self._network)
        found = await asyncio.gather(
            *(positions.at_time(self._wrapped(queue), time) for queue, time in times.items())
        )
        return dict(zip(times, found, strict=True))

    def peek(self, places: Offsets, limit: int) -> dict[Queue, Pulled]:
        """Return the first few messages from an offset on, for each queue; none where nobody answers."""
        return self._run(self._peek(places, limit))

    def sizes(self, places: Offsets) -> dict[Queue, float]:
        """Return how large the next few messages are from an offset on, in the mean of each queue."""
        return {
            queue: sum(message.size for message in pulled.messages) / len(pulled.messages)
            for queue, pulled in self.peek(places, SAMPLE).items()
            if pulled.messages
        }

    async def _peek(self, places: Offsets, limit: int) -> dict[Queue, Pulled]:
        pulls = await asyncio.gather(
            *(self._pull(queue, offset, limit) for queue, offset in places.items()), return_exceptions=True
        )
        return {
            queue: pulled for queue, pulled in zip(places, pulls, strict=True) if isinstance(pulled, Pulled)
        }

    async def _pull(self, queue: Queue, offset: int, limit: int) -> Pulled:
        wrapped = self._wrapped(queue)
        return await pull_once(
            self._network,
            wrapped,
            group=GROUP,
            subscription=subscription(wrapped.topic, "*", now_ms()),
            offset=offset,
            limit=limit,
            hold=0.0,
        )

    def seconds_behind(self, offsets: Offsets) -> float:
        """Return how old the oldest of the messages at some offsets is."""
        pulls = self.peek(offsets, 1).values()
        stored = [pulled.messages[0].store_timestamp for pulled in pulls if pulled.messages]
        return max(now_ms() - min(stored), 0) / 1000 if stored else 0.0

    def commit(self, group: str, offsets: Offsets) -> None:
        """Note a group's offsets at the brokers; what they do not take is only logged."""
        self._run(self._commit(wrap(self._namespace, group), offsets))

    async def _commit(self, group: str, offsets: Offsets) -> None:
        if group not in self._groups and await self._make(group):
            self._groups.add(group)
        kept = RemoteOffsets(self._network, group)
        await kept.store({self._wrapped(queue): offset for queue, offset in offsets.items()})

    async def _make(self, group: str) -> bool:
        """Make a group that is not there: official brokers keep no offsets for strangers.

        Returns:
            Whether it is there now; otherwise the next commit tries again.
        """
        from tailfin.admin.groups import Groups
        from tailfin.admin.servers import Servers
        from tailfin.admin.topics import Topics

        servers = Servers(self._network)
        groups = Groups(servers, Topics(servers))
        try:
            if group not in await groups.list(everything=True):
                await groups.create(group)
        except (ClientError, RemotingError) as error:
            log.warning("whether there is a group %s is not known: %s", group, error)
            return False
        return True

    def _wrapped(self, queue: Queue) -> Queue:
        return queue._replace(topic=wrap(self._namespace, queue.topic))


def _silent(error: BaseException) -> bool:
    return isinstance(error, RemotingError) and got_no_answer(error)
