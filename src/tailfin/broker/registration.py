"""Registration with every name server: all topics now and then, a changed topic at once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailfin.broker.entry_texts import EntryTexts
from tailfin.remoting import Client
from tailfin.rounds import Rounds
from tailfin.wire import fastjson, registration
from tailfin.wire.bodies.common import KVTable
from tailfin.wire.bodies.topics import (
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.namesrv import (
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
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


class Registration:
    """Keeps the name servers informed; each is dealt with alone, so a dead one holds up nobody."""

    def __init__(self, broker: "Broker", client: Client) -> None:
        self._broker = broker
        self._client = client
        self._pending: dict[str, TopicConfig] = {}
        self._rounds = Rounds(self._tell_changes)
        self._texts = EntryTexts()
        self._troubled: set[str] = set()

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Register now and then for ever."""
        pause = max(FIRST_BEAT_S, self._broker.config.disappearTimeAfterStart / 1000)
        while True:
            # A name server that starts after its brokers need not wait for their next turn.
            await sleep(min(pause, TRY_AGAIN_S) if self._troubled else pause)
            await self.register(force=self._broker.config.forceRegister or bool(self._troubled))
            pause = self._broker.config.registerNameServerPeriod / 1000

    async def register(self, *, force: bool = True) -> None:
        """Tell every name server all topics; without `force` only those that know another version."""

        async def one(server: str) -> None:
            if force or await self._outdated(server):
                await self._tell(
                    server, self._broker.topics.snapshot().topic_config_table, self._texts.of_all
                )

        await self._each(one)

    def topics_changed(self, topics: list[TopicConfig]) -> None:
        """Tell every name server about these topics soon; what comes meanwhile goes along."""
        self._pending.update({topic.topic_name or "": topic for topic in topics})
        self._rounds.ask()

    async def told(self) -> None:
        """Wait until every change so far was told, or could not be."""
        await self._rounds.done()

    async def _tell_changes(self) -> None:
        topics, self._pending = self._pending, {}
        await self._each(lambda server: self._tell(server, topics, self._texts.of_some))

    async def unregister(self) -> None:
        """Say goodbye to every name server."""
        self._rounds.cancel()
        header = UnRegisterBrokerRequestHeader(**self._identity())

        async def one(server: str) -> None:
            await self._client.call(
                server, Code.UNREGISTER_BROKER, header=header, timeout=UNREGISTER_WITHIN_S
            )

        await self._each(one)

    async def _each(self, act: Callable[[str], Awaitable[None]]) -> None:
        async def guarded(server: str) -> None:
            try:
                await act(server)
            except RemotingError as error:
                # Once is enough: it is tried again and again.
                if server not in self._troubled:
                    self._troubled.add(server)
                    log.error("name server %s cannot be told about this broker: %s", server, error)
            else:
                if server in self._troubled:
                    self._troubled.discard(server)
                    log.info("name server %s knows this broker again", server)

        await asyncio.gather(*(guarded(server) for server in self._broker.config.name_servers()))

    async def _outdated(self, server: str) -> bool:
        answer = await self._client.call(
            server,
            Code.QUERY_DATA_VERSION,
            header=QueryDataVersionRequestHeader(**self._identity()),
            body=self._broker.topics.version.to_json(),
            timeout=VERSION_WITHIN_S,
        )
        return QueryDataVersionResponseHeader.decode(answer.fields).changed

    async def _tell(self, server: str, topics: dict[str, TopicConfig], texts: Texts) -> None:
        body, header = self._message(topics, texts)
        answer = await self._client.call(
            server,
            Code.REGISTER_BROKER,
            header=header,
            body=body,
            timeout=self._broker.config.registerBrokerTimeoutMills / 1000,
        )
        if answer.body:
            self._take_order_config(KVTable.from_json(answer.body).table)

    def _message(
        self, topics: dict[str, TopicConfig], texts: Texts
    ) -> tuple[bytes, RegisterBrokerRequestHeader]:
        config = self._broker.config
        if config.brokerPermission & 6 != 6:
            topics = {
                name: replace(topic, perm=topic.perm & config.brokerPermission)
                for name, topic in topics.items()
            }
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


def _json(body: RegisterBrokerBody, texts: Texts) -> bytes:
    wrapper = body.topic_config_serialize_wrapper
    tree = replace(body, topic_config_serialize_wrapper=replace(wrapper, topic_config_table={})).to_tree()
    tree["topicConfigSerializeWrapper"]["topicConfigTable"] = texts(wrapper.topic_config_table)
    return fastjson.dumps(tree)
