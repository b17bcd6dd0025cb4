"""The broker, put together: its parts, and the order in which they start and stop."""

import asyncio
import contextlib
import inspect
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tailfin.broker import address
from tailfin.broker.admin.connections import Connections
from tailfin.broker.admin.groups import GroupAdmin
from tailfin.broker.admin.node import NodeAdmin
from tailfin.broker.admin.progress import Progress
from tailfin.broker.admin.topics import TopicAdmin
from tailfin.broker.clients import ClientTable, ConsumerGroup
from tailfin.broker.clock import Clock
from tailfin.broker.counting import Counting
from tailfin.broker.filters import ConsumerFilters
from tailfin.broker.groups import GroupTable
from tailfin.broker.hooks import Hooks
from tailfin.broker.locks import QueueLocks
from tailfin.broker.membership import Membership
from tailfin.broker.offsets import ConsumerOffsets
from tailfin.broker.protection import LOOK_EVERY_S, stop_the_slow
from tailfin.broker.pull import Pulls
from tailfin.broker.query import Queries
from tailfin.broker.recall import Recalls
from tailfin.broker.registration import Registration
from tailfin.broker.reply import Replies
from tailfin.broker.retry import Retry
from tailfin.broker.rulebook import Rulebook
from tailfin.broker.schedule import Schedule
from tailfin.broker.send import Sends
from tailfin.broker.stats import SAMPLE_S
from tailfin.broker.timer import Timers
from tailfin.broker.topics import TopicTable
from tailfin.broker.transactions import Transactions
from tailfin.broker.waiting import Waiting
from tailfin.config.broker import BrokerConfig, BrokerSettings
from tailfin.config.hot import hot_options
from tailfin.remoting import DRAIN_S, Client, Hook, HotPath, Server
from tailfin.store import Store
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig

log = logging.getLogger("tailfin.broker")

SCAN_CLIENTS_S = 10.0
PERSIST_FILTERS_S = 10.0
VIP_PORT_BELOW = 2


class Broker:
    """One broker in this process.

    Example:
        >>> async with Broker(BrokerSettings.load("broker.conf")) as broker:
        ...     await broker.wait_stopped()
    """

    def __init__(
        self, settings: BrokerSettings, *, rpc_hooks: tuple[Hook, ...] = (), clock: Clock | None = None
    ) -> None:
        """Take the settings; `rpc_hooks` see every request that reaches Python.

        By `clock` the broker tells what is due; without one by the machine's.
        """
        self.settings = settings
        self.clock = clock or Clock()
        self._rpc_hooks = rpc_hooks
        self.hooks = Hooks()
        self._timers: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the store, load what is known, serve, then tell the name servers."""
        await self._settle_address()
        self.store = await asyncio.to_thread(
            Store, self.settings.store.paths()["storePathRootDir"], self.settings.store
        )
        try:
            self._load()
            self._serve()
            await self._announce()
            self._start_timers()
        except BaseException:
            await self._close()
            raise
        log.info("%s", self.boot_line())

    async def _settle_address(self) -> None:
        """Decide what clients are told and, as an IP address, what the store writes into records."""
        config = self.config
        port = config.listenPort or address.free_port(self.settings.server.bindAddress)
        ip = config.brokerIP1 or address.local_address()
        store_ip = await asyncio.to_thread(address.resolved, ip)
        config = replace(config, brokerIP1=ip, brokerIP2=config.brokerIP2 or ip, listenPort=port)
        store = self.settings.store.changed(storeHost=f"{store_ip}:{port}")
        # As if they had been given, so that they are still there after a change of other settings.
        settled = {key: str(getattr(config, key)) for key in ("brokerIP1", "brokerIP2", "listenPort")}
        given = {**self.settings.given, **settled, "storeHost": store.storeHost}
        self.settings = replace(self.settings, broker=config, store=store, given=given)

    def _load(self) -> None:
        """Read the config files and hand their content to the hot path."""
        folder = self.config_folder
        light = self.settings.store.enableLmq
        self.topics = TopicTable(folder, self.config, light=light)
        self.groups = GroupTable(folder, self.config, light=light)
        self.hot = HotPath(self.store, hot_options(self.config))
        self.offsets = ConsumerOffsets(folder, self.config, self.hot, light=light)
        self.filters = ConsumerFilters(folder, self.config)
        self.counting = Counting(self)
        self.schedule = Schedule(folder, self.store, self.clock, self.counting.count_delivered)
        self.timers = Timers(self)
        self.waiting = Waiting(self)
        for part in (self.topics, self.groups, self.offsets, self.filters, self.schedule, self.timers):
            part.load()
        self.rulebook = Rulebook(self.hot, self.topics, self.groups, self.filters, self.hooks)
        self.rulebook.push_all()
        self.waiting.tell_hot_path()
        self.clients = ClientTable(self.config.channelExpiredTimeout / 1000)
        self.clients.on_subscription = self._subscription_changed
        self.locks = QueueLocks()
        self.transactions = Transactions(self)
        self.transactions.load()
        self.counting.sample()

    def _serve(self) -> None:
        """Open the port, with every handler in its place."""
        self.client = Client()
        self.registration = Registration(self, self.client)
        self.server = Server(self.settings.server.engine_options(), hot=self.hot, hooks=self._rpc_hooks)
        self.membership = Membership(self)
        self.queries = Queries(self)
        self.retry = Retry(self)
        sends = Sends(self)
        self.server.add(
            sends,
            Replies(self, sends),
            self.retry,
            Pulls(self),
            self.queries,
            self.membership,
            TopicAdmin(self),
            GroupAdmin(self),
            Progress(self),
            Connections(self),
            NodeAdmin(self),
            self.timers,
            Recalls(self),
            *self.transactions.handlers(),
        )
        self.server.on_closed(lambda event: self.clients.closed(event.connection))
        self.topics.on_change, self.topics.on_delete = self._topics_changed, self.rulebook.drop_topic
        self.groups.on_change, self.groups.on_delete = self._groups_changed, self.rulebook.drop_group
        self.topics.on_touch, self.groups.on_touch = self.topics.file.changed, self.groups.file.changed
        bind, port = self.settings.server.bindAddress, self.config.listenPort
        self.server.listen(bind, port)
        if port > VIP_PORT_BELOW:
            try:
                self.server.listen(bind, port - VIP_PORT_BELOW)
            except OSError as error:
                log.info("port %d, for clients with vipChannelEnabled, is not there: %s", port - 2, error)

    def _warn_of_roles(self) -> None:
        """Say what a role promises elsewhere and nobody keeps here."""
        asked = (self.settings.given.get(key, "").strip() for key in ("inSyncReplicas", "minInSyncReplicas"))
        in_sync = max(int(text) if text.isdecimal() else 1 for text in asked)
        if self.is_slave:
            log.warning(
                "this broker is a SLAVE, but nothing is copied from its master: it serves what its directory "
                "holds. Run RocketMQ's broker as the slave until replication is served here"
            )
        elif self.settings.store.brokerRole == "SYNC_MASTER" or in_sync > 1:
            log.warning(
                "no slave can copy from this broker, so it acknowledges as an ASYNC_MASTER does: use "
                "flushDiskType=SYNC_FLUSH for messages that have to outlive this machine's memory"
            )

    async def _announce(self) -> None:
        """Register, and see to it that clients can reach what they are told."""
        self._warn_of_roles()
        if trouble := await address.reachable(self.config.brokerIP1, self.config.listenPort):
            log.error(
                "clients will be told %s, but it cannot be reached even from here (%s): set brokerIP1 to an "
                "address of this host, or bindAddress to one that it answers at",
                self.address,
                trouble,
            )
        elif doubt := address.advice(self.config.brokerIP1):
            log.warning("%s", doubt)
        if self.config.disappearTimeAfterStart > 0:
            log.info("name servers are told after %d ms", self.config.disappearTimeAfterStart)
            return
        await self.registration.register()

    def _start_timers(self) -> None:
        config = self.config
        self._timers = [
            asyncio.create_task(each)
            for each in (
                self.registration.run(),
                self._every(config.flushConsumerOffsetInterval / 1000, self.offsets.persist_if_changed),
                self._every(SCAN_CLIENTS_S, self.membership.scan),
                self._every(PERSIST_FILTERS_S, self.filters.persist_if_changed),
                self._every(SAMPLE_S, self.counting.sample),
                self._every(LOOK_EVERY_S, lambda: stop_the_slow(self)),
                self.transactions.keep_counts(),
            )
        ]
        if not self.is_slave:
            masters = (
                self.schedule.run(),
                self.schedule.keep(),
                self.timers.run(),
                self.timers.keep(),
                self.transactions.checks.run(),
            )
            self._timers += [asyncio.create_task(each) for each in masters]

    async def stop(self) -> None:
        """Say goodbye to the name servers, finish what is under way, write everything down."""
        if self.is_stopped:
            return
        await self.registration.unregister()
        await self._close(go_away=self.settings.server.go_away_seconds())
        log.info("the broker[%s, %s] is stopped", self.config.brokerName, self.address)

    async def _close(self, go_away: float = 0.0) -> None:
        await self.cut_off(go_away=go_away)
        await self.put_away()

    async def cut_off(self, *, drain: float = DRAIN_S, go_away: float = 0.0) -> None:
        """End all connections and timers; the files are left as they stand, as by a kill."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._timers, return_exceptions=True)
        if hasattr(self, "server"):
            await self.server.stop(drain, go_away=go_away)
            await self.client.stop()
            await self.transactions.closer.settled()

    async def put_away(self) -> None:
        """Write everything down and close the store, after `cut_off`."""
        if hasattr(self, "server"):
            await self._persist()
        await asyncio.to_thread(self.store.close)
        self._stopped.set()

    async def _persist(self) -> None:
        for table in (self.topics.file, self.groups.file):
            with _said_at_the_stop():
                await table.close()
        with _said_at_the_stop():
            await self.offsets.persist_if_changed()
        for part in (self.filters, self.schedule, self.timers, self.transactions.counts):
            with _said_at_the_stop():
                part.persist_if_changed()

    async def wait_stopped(self) -> None:
        """Wait until someone stopped the broker."""
        await self._stopped.wait()

    @property
    def is_stopped(self) -> bool:
        """Whether its store is closed again."""
        return self._stopped.is_set()

    @property
    def config(self) -> BrokerConfig:
        """The broker's own settings."""
        return self.settings.broker

    @property
    def config_folder(self) -> Path:
        """Where the JSON files are."""
        return self.settings.store.paths()["storePathRootDir"] / "config"

    @property
    def address(self) -> str:
        """What clients are told."""
        return f"{self.config.brokerIP1}:{self.config.listenPort}"

    @property
    def ha_address(self) -> str:
        """What slaves are told."""
        return f"{self.config.brokerIP2}:{self.config.haListenPort or self.config.listenPort + 1}"

    @property
    def is_slave(self) -> bool:
        """Whether a master's messages come here by replication only."""
        return self.settings.store.brokerRole == "SLAVE"

    def boot_line(self) -> str:
        """Return RocketMQ's line about a successful start."""
        line = f"The broker[{self.config.brokerName}, {self.address}] boot success. serializeType=JSON"
        known = f" and name server is {self.config.namesrvAddr}" if self.config.namesrvAddr else ""
        return line + known

    async def apply(self, settings: BrokerSettings) -> None:
        """Put changed settings into force; those of the store's files wait for the next start."""
        before, self.settings = self.settings, settings
        self.topics.config = self.groups.config = self.filters.config = settings.broker
        self.hot.set_options(hot_options(settings.broker))
        self.waiting.tell_hot_path()
        if settings.store.maxMessageSize != before.store.maxMessageSize:
            self.store.set_max_message_size(settings.store.maxMessageSize)
        self.store.clean_like(settings.store)
        if settings.broker.brokerPermission != before.broker.brokerPermission:
            self.topics.touch()
            await self.registration.register()

    async def topic_kept(self, name: str) -> None:
        """Wait until a topic that a message made is on disk: without it nobody finds the message."""
        # What could not be written is said, and tried again; the message may still be stored.
        with contextlib.suppress(OSError):
            await self.topics.file.settled()
        if name in self.topics.unkept:
            self.topics.unkept.discard(name)
            if topic := self.topics.get(name):
                self.rulebook.put_topic(topic)

    async def topics_settled(self) -> None:
        """Wait until every changed topic is on disk and the name servers were told."""
        await self.topics.file.settled()
        await self.registration.told()

    async def groups_settled(self) -> None:
        """Wait until every changed group is on disk."""
        await self.groups.file.settled()

    def _topics_changed(self, topics: list[TopicConfig]) -> None:
        for topic in topics:
            self.rulebook.put_topic(topic)
        self.registration.topics_changed(topics)

    def _groups_changed(self, groups: list[SubscriptionGroupConfig]) -> None:
        for group in groups:
            self.rulebook.put_group(group)

    def _subscription_changed(
        self, group: ConsumerGroup, topic: str, subscription: SubscriptionData | None
    ) -> None:
        self.filters.follow(group.name, topic, subscription)
        self.rulebook.put_subscription(group, topic, subscription)

    def retell_subscription(self, group: str, topic: str) -> None:
        """Tell the hot path once more what a group reads of a topic, after a rule about it changed."""
        found = self.clients.consumer_group(group)
        if found and topic in found.subscriptions:
            self.rulebook.put_subscription(found, topic, found.subscriptions[topic])

    def disk_space(self) -> tuple[int, int]:
        """Return the bytes of the log's disk, all and free."""
        usage = shutil.disk_usage(self.store.config.paths()["storePathCommitLog"])
        return usage.total, usage.free

    async def _every(self, seconds: float, act: Callable[[], object]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                if inspect.isawaitable(doing := act()):
                    await doing
            except Exception:  # one bad turn must not end a timer that others rely on
                log.exception("a timer of the broker failed; it goes on")


@contextlib.contextmanager
def _said_at_the_stop() -> Iterator[None]:
    try:
        yield
    except OSError:
        log.exception("a config file could not be written at the stop")
