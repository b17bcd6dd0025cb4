"""Registration with every name server: all topics now and then, a changed topic at once."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tailfin.broker.entry_texts import EntryTexts
from tailfin.remoting import Client
from tailfin.rounds import Rounds
from tailfin.wire import fastjson, registration
from tailfin.wire.bodies.common import KVTable
from tailfin.wire.bodies.routes import QueueData, TopicRouteData
from tailfin.wire.bodies.topics import (
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.namesrv import (
    ZONE_MODE,
    ZONE_NAME,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterTopicRequestHeader,
    UnRegisterBrokerRequestHeader,
)

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

Texts = Callable[[Mapping[str, TopicConfig]], dict[str, fastjson.Written]]

FIRST_BEAT_S = 10.0
TRY_AGAIN_S = 3.0
VERSION_WITHIN_S = 3.0
UNREGISTER_WITHIN_S = 3.0
WAITED_FOR_S = 2.0
"""Who takes longer to hear something is not waited for; it is still told."""


@dataclass
class _NameServer:
    """What one name server still has to be told."""

    address: str
    rounds: Rounds
    changed: dict[str, TopicConfig] = field(default_factory=dict)
    beat: bool = False
    """Whether it is due to hear of all topics, or to be asked if it knows them."""
    force: bool = False
    """Whether it is not asked first."""
    troubled: bool = False
    """Whether it may have missed something: only all topics mend that."""


class Registration:
    """Keeps the name servers informed; each has rounds of its own, so a dead one holds up nobody."""

    def __init__(self, broker: "Broker", client: Client) -> None:
        self._broker = broker
        self._client = client
        self._texts = EntryTexts()
        self._servers: dict[str, _NameServer] = {}
        self._said_goodbye = False

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Register now and then for ever."""
        pause = max(FIRST_BEAT_S, self._broker.config.disappearTimeAfterStart / 1000)
        while True:
            await self._pause(pause, sleep)
            await self.register(force=self._broker.config.forceRegister)
            pause = self._broker.config.registerNameServerPeriod / 1000

    async def _pause(self, seconds: float, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Sleep, but try those again that missed something: one that starts late need not wait so long."""
        while seconds > 0:
            step = min(seconds, TRY_AGAIN_S)
            await sleep(step)
            seconds -= step
            for server in self._servers.values():
                if server.troubled:
                    server.rounds.ask()

    async def register(self, *, force: bool = True) -> None:
        """Tell every name server all topics; without `force` only those that know another version.

        A name server that is slow or gone holds up nobody: it is told later.
        """
        if self._said_goodbye:
            return
        self._follow_config()
        for server in self._servers.values():
            server.beat, server.force = True, server.force or force
            server.rounds.ask()
        await self._done(self._servers.values())

    def topics_changed(self, topics: list[TopicConfig]) -> None:
        """Tell every name server about these topics soon; what comes meanwhile goes along."""
        for server in self._servers.values():
            server.changed.update({topic.topic_name or "": topic for topic in topics})
            server.rounds.ask()

    async def told(self) -> None:
        """Wait until those that could be reached last time were told of every change so far."""
        await self._done(server for server in self._servers.values() if not server.troubled)

    async def _done(self, servers: Iterable[_NameServer]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAITED_FOR_S):
                await asyncio.gather(*(server.rounds.done() for server in servers), return_exceptions=True)

    def _follow_config(self) -> None:
        configured = self._broker.config.name_servers()
        for address in self._servers.keys() - set(configured):
            self._servers.pop(address).rounds.cancel()
        for address in configured:
            if address not in self._servers:
                server = _NameServer(address, Rounds(partial(self._catch_up, address)))
                self._servers[address] = server

    async def _catch_up(self, address: str) -> None:
        """Tell one name server what it has to be told by now."""
        server = self._servers[address]
        # What was deleted since it changed would come back there.
        changed = {name: topic for name, topic in server.changed.items() if name in self._broker.topics}
        server.changed = {}
        beat, server.beat = server.beat, False
        force, server.force = server.force or server.troubled, False
        everything = False
        try:
            everything = force or (beat and await self._outdated(address))
            if everything:
                table = self._broker.topics.snapshot().topic_config_table
                await self._tell(address, self._permitted(table), self._texts.of_all)
            elif changed and not beat:
                await self._tell_changes(address, self._permitted(changed))
        except RemotingError as error:
            self._troubled(server, error)
        except Exception as error:  # the next round must come, whatever this one met
            log.exception("telling name server %s about this broker failed", address)
            self._troubled(server, error)
        else:
            if everything and server.troubled:
                server.troubled = False
                log.info("name server %s knows this broker again", address)

    def _troubled(self, server: _NameServer, error: Exception) -> None:
        # Once is enough: it is tried again and again.
        if not server.troubled:
            server.troubled = True
            log.error("name server %s cannot be told about this broker: %s", server.address, error)

    async def unregister(self) -> None:
        """Say goodbye to every name server; none hears of this broker again."""
        self._said_goodbye = True
        while self._servers:
            self._servers.popitem()[1].rounds.cancel()
        header = UnRegisterBrokerRequestHeader(**self._identity())

        async def one(address: str) -> None:
            try:
                await self._client.call(
                    address, Code.UNREGISTER_BROKER, header=header, timeout=UNREGISTER_WITHIN_S
                )
            except RemotingError as error:
                log.info("name server %s does not hear that this broker stops: %s", address, error)

        await asyncio.gather(*(one(address) for address in self._broker.config.name_servers()))

    async def _outdated(self, server: str) -> bool:
        answer = await self._client.call(
            server,
            Code.QUERY_DATA_VERSION,
            header=QueryDataVersionRequestHeader(**self._identity()),
            body=self._broker.topics.version.to_json(),
            timeout=VERSION_WITHIN_S,
        )
        return QueryDataVersionResponseHeader.decode(answer.fields).changed

    async def _tell_changes(self, server: str, topics: dict[str, TopicConfig]) -> None:
        if not self._broker.config.enableSingleTopicRegister:
            await self._tell(server, topics, self._texts.of_some, only_changes=True)
            return
        for name, topic in topics.items():
            if name not in self._broker.topics:
                continue  # deleted while others were told
            await self._client.call(
                server,
                Code.REGISTER_TOPIC_IN_NAMESRV,
                header=RegisterTopicRequestHeader(topic=name),
                body=TopicRouteData(queue_datas=[self._queues(topic)]).to_json(),
                timeout=self._broker.config.registerBrokerTimeoutMills / 1000,
            )

    def _queues(self, topic: TopicConfig) -> QueueData:
        return QueueData(
            broker_name=self._broker.config.brokerName,
            read_queue_nums=topic.read_queue_nums,
            write_queue_nums=topic.write_queue_nums,
            perm=topic.perm,
            topic_sys_flag=topic.topic_sys_flag,
        )

    def _permitted(self, topics: dict[str, TopicConfig]) -> dict[str, TopicConfig]:
        """Return topics without what the broker as a whole does not permit."""
        permission = self._broker.config.brokerPermission
        if permission & 6 == 6:
            return topics
        return {name: replace(topic, perm=topic.perm & permission) for name, topic in topics.items()}

    async def _tell(
        self, server: str, topics: dict[str, TopicConfig], texts: Texts, *, only_changes: bool = False
    ) -> None:
        body, header = self._message(topics, texts)
        if only_changes:
            header = replace(header, only_changes=True)
        answer = await self._client.call(
            server,
            Code.REGISTER_BROKER,
            header=header,
            fields=_zone(),
            body=body,
            timeout=self._broker.config.registerBrokerTimeoutMills / 1000,
        )
        if answer.body:
            self._take_order_config(KVTable.from_json(answer.body).table)

    def _message(
        self, topics: dict[str, TopicConfig], texts: Texts
    ) -> tuple[bytes, RegisterBrokerRequestHeader]:
        config = self._broker.config
        wrapper = TopicConfigAndMappingSerializeWrapper(
            topic_config_table=topics, data_version=self._broker.topics.version
        )
        content = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
        body = registration.deflate(content) if config.compressedRegister else _json(content, texts)
        header = RegisterBrokerRequestHeader(
            **self._identity(),
            ha_server_addr=self._broker.ha_address,
            compressed=config.compressedRegister,
            body_crc32=registration.crc32(body),
        )
        return body, header

    def _take_order_config(self, table: dict[str, str]) -> None:
        """Mark topics that a name server knows as ordered; what it does not name stays as it is."""
        topics = (self._broker.topics.get(name) for name in table)
        self._broker.topics.put([replace(topic, order=True) for topic in topics if topic and not topic.order])

    def _identity(self) -> dict[str, Any]:
        config = self._broker.config
        return {
            "broker_name": config.brokerName,
            "broker_addr": self._broker.address,
            "cluster_name": config.brokerClusterName,
            "broker_id": config.brokerId,
        }


def _zone() -> dict[str, str]:
    """Return the zone of this broker, by which clients of the same one find it, as its environment has it."""
    variables = {ZONE_NAME: "ROCKETMQ_ZONE", ZONE_MODE: "ROCKETMQ_ZONE_MODE"}
    return {field: value for field, variable in variables.items() if (value := os.environ.get(variable))}


def _json(body: RegisterBrokerBody, texts: Texts) -> bytes:
    wrapper = body.topic_config_serialize_wrapper
    tree = replace(body, topic_config_serialize_wrapper=replace(wrapper, topic_config_table={})).to_tree()
    tree["topicConfigSerializeWrapper"]["topicConfigTable"] = texts(wrapper.topic_config_table)
    return fastjson.dumps(tree)
