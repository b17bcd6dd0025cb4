"""What push and lite pull consumers share: being a member of a group and reading its share of queues."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from tailfin.broker import names
from tailfin.client.consuming.hooking import keeping
from tailfin.client.consuming.locking import Locks
from tailfin.client.consuming.offsets import LocalOffsets, OffsetStore, RemoteOffsets, local_path
from tailfin.client.consuming.positions import Beginnings, Positions
from tailfin.client.consuming.pulling import QueueReader, Sink
from tailfin.client.consuming.reading import Reading
from tailfin.client.consuming.readings import Readings
from tailfin.client.consuming.rebalancing import Rebalancer
from tailfin.client.consuming.settings import ReadSettings
from tailfin.client.consuming.starting import ConsumeFrom, in_heartbeat
from tailfin.client.consuming.subscriptions import SQL92, Expression, subscription
from tailfin.client.errors import ClientError, NoRoute
from tailfin.client.hooks import overriding
from tailfin.client.names import unwrap, wrap
from tailfin.client.network import Network
from tailfin.client.options import ClientOptions
from tailfin.client.queues import Queue
from tailfin.client.rebalance import Strategy
from tailfin.client.routes import Route
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import (
    CheckClientRequestBody,
    ConsumerData,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms

log = logging.getLogger("tailfin.client")


LOCK_RETRY_S = 1.0
LAST_COMMIT_S = 1.0


class Group:
    """A member of a consumer group, from its start to its end.

    Args:
        group: the group, as its user names it.
        client: what every client can be told.
        settings: how it reads.
        consume_type: how it gets its messages, for tools to see.
        broadcast: every member reads everything.
        ordered: lock queues before they are read.
        consume_from: where to begin without an offset.
        strategy: how queues are shared.
        store: where offsets are kept; None: where RocketMQ keeps them.
        offer: is told that a queue has messages.
        handlers: what to do with brokers' requests.
        auto_commit: commit what is done now and then.
    """

    def __init__(
        self,
        group: str,
        *,
        client: ClientOptions,
        settings: ReadSettings,
        consume_type: ConsumeType,
        broadcast: bool,
        ordered: bool,
        consume_from: ConsumeFrom,
        strategy: Strategy,
        store: OffsetStore | None,
        offer: Callable[[Reading], None],
        handlers: Mapping[int, Handler],
        auto_commit: bool = True,
    ) -> None:
        self.options = client
        self.settings = settings
        self.group = wrap(client.namespace, group)
        self.handlers = handlers
        self.network = Network(client)
        self.network.carrier.gather()
        self.guard = threading.Lock()
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.broadcast = broadcast
        self._consume_type = consume_type
        self._consume_from = consume_from
        self._lite = consume_type is ConsumeType.CONSUME_ACTIVELY
        self.store = store or self._usual_store()
        self.positions = Positions(self.network)
        beginnings = Beginnings(self.network, self.group, self.store, self.positions, consume_from)
        self.readings = Readings(
            self.network,
            read=self._read,
            offer=offer,
            store=self.store,
            beginnings=beginnings,
            locks=Locks(self.network, self.group) if ordered and not broadcast else None,
            guard=self.guard,
            auto_commit=auto_commit,
            # Ordered queues are worked off from the front, whatever the distance.
            span_max=None if ordered else settings.queue_span,
            keep=keeping(overriding(client.hooks, "keep"), self.group),
        )
        self._auto_commit = auto_commit
        self.rebalancer = Rebalancer(
            self.network,
            self.group,
            None if broadcast else strategy,
            lambda: self.subscriptions,
            self.readings,
            interval=settings.rebalance_interval,
        )
        self._tasks: list[asyncio.Task[None]] = []

    def subscribe(self, topic: str, expression: Expression) -> None:
        """Read a topic."""
        wrapped = wrap(self.options.namespace, topic)
        self.subscriptions[wrapped] = subscription(wrapped, expression, now_ms())

    def unsubscribe(self, topic: str) -> None:
        """Read a topic no more."""
        self.subscriptions.pop(wrap(self.options.namespace, topic), None)

    async def start(self) -> None:
        """Join the group."""
        await self.network.start()
        await self.store.load()
        if not self.broadcast and not self._lite:
            self.subscribe(names.retry_topic(self.group), "*")
        for topic in self.subscriptions:
            try:
                await self.network.route(topic)
            except NoRoute as error:
                log.debug("%s", error)
        self.network.join(self)
        await self.network.beat()
        await self._check_filters()
        if self._auto_commit:
            is_remote = isinstance(self.store, RemoteOffsets)
            commit = self.readings.commit_everything if is_remote else self.readings.commit
            self.every(self.settings.commit_interval, commit)
        self._tasks.append(asyncio.create_task(self._keep_locks()))

    async def share_queues(self) -> None:
        """Take this member's share of the queues, now and whenever the group changes."""
        if not await self.rebalancer.look():
            self.rebalancer.soon()
        self.rebalancer.start()

    async def changed(self) -> None:
        """Tell brokers of changed subscriptions, and read accordingly."""
        await self.network.beat()
        self.rebalancer.soon()

    async def stop_taking(self) -> None:
        """Take no more queues and pull no more."""
        await self.rebalancer.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.readings.stop_reading()

    async def leave(self, deadline: float) -> None:
        """Commit until then (monotonic seconds), give the locks back, and say goodbye."""
        # Handlers that took all the time do not cost those that ended their offsets.
        await self.readings.stop(max(deadline - time.monotonic(), LAST_COMMIT_S))
        await self.network.leave(self)
        await self.network.stop()

    # What the network asks of its members

    def heartbeat(self) -> ConsumerData:
        """Return what brokers are told."""
        return ConsumerData(
            group_name=self.group,
            consume_type=self._consume_type,
            message_model=MessageModel.BROADCASTING if self.broadcast else MessageModel.CLUSTERING,
            consume_from_where=in_heartbeat(self._consume_from),
            subscription_data_set=list(self.subscriptions.values()),
            unit_mode=self.options.unit is not None,
        )

    def route_changed(self, route: Route) -> None:
        """Look again who reads what when a topic's queues changed."""
        if route.topic in self.subscriptions:
            self.rebalancer.soon()

    # Its own

    def queue_for_user(self, queue: Queue) -> Queue:
        """Return a queue with the topic's name as its user knows it."""
        return queue._replace(topic=unwrap(self.options.namespace, queue.topic))

    def every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Do something now and then, as long as the consumer runs."""

        async def repeat() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await work()
                except (RemotingError, ClientError) as error:
                    log.warning("group %s: %s", self.group, error)

        self._tasks.append(asyncio.create_task(repeat()))

    async def _keep_locks(self) -> None:
        all_held = True
        while True:
            seconds = self.settings.lock_interval
            await asyncio.sleep(seconds if all_held else min(seconds, LOCK_RETRY_S))
            all_held = await self.readings.renew_locks()

    def _usual_store(self) -> OffsetStore:
        if not self.broadcast:
            return RemoteOffsets(self.network, self.group)
        folder = self.settings.offsets_folder
        return LocalOffsets(local_path(Path(folder) if folder else None, self.network.stable_id, self.group))

    def _read(self, queue: Queue, offset: int, sink: Sink) -> QueueReader:
        settings = self.settings
        return QueueReader(
            self.network,
            queue,
            group=self.group,
            subscription=self.subscriptions[queue.topic],
            offset=offset,
            sink=sink,
            trouble_pause=settings.trouble_pause,
            options={
                "batch": settings.pull_batch,
                "batch_bytes": settings.pull_bytes,
                "suspend_ms": int(settings.pull_hold * 1000),
                "timeout_ms": int(settings.pull_timeout * 1000),
                "max_messages": settings.queue_messages,
                "max_bytes": settings.queue_bytes,
                "lite": self._lite,
            },
        )

    async def _check_filters(self) -> None:
        """Have a broker look at SQL expressions: a wrong one is an error now, not silence later."""
        for topic, data in self.subscriptions.items():
            route = self.network.known_route(topic)
            if data.expression_type != SQL92 or route is None:
                continue
            body = CheckClientRequestBody(
                client_id=self.network.client_id,
                group=self.group,
                subscription_data=data,
                namespace=self.options.namespace,
            )
            for broker in route.brokers:
                _, address = self.network.master_or_slave(broker)
                try:
                    await self.network.call(address, Code.CHECK_CLIENT_CONFIG, body=body.to_json())
                except RemotingError as error:
                    what = f"the subscription {data.sub_string!r} of topic {topic!r}"
                    raise ClientError(f"broker {broker!r} refuses {what}: {error}") from None
                break
