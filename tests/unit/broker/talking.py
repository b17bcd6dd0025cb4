"""A client of few words: the requests that these tests send, over real sockets."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tailfin.broker.app import Broker
from tailfin.broker.groups import GroupTable
from tailfin.broker.topics import TopicTable
from tailfin.cluster import Node
from tailfin.config.broker import BrokerConfig
from tailfin.message import Message
from tailfin.remoting import Client
from tailfin.wire.bodies.clients import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tailfin.wire.headers.pull import PullMessageRequestHeader
from tailfin.wire.headers.send import SendMessageRequestHeader

Found = TypeVar("Found")


def left_by_a_kill(folder: Path, tmp_path: Path) -> tuple[TopicTable, GroupTable]:
    """Return the tables that a broker would find if this one were gone now, without touching its files."""
    copy = Path(tempfile.mkdtemp(dir=tmp_path)) / "config"
    shutil.copytree(folder, copy)
    topics, groups = TopicTable(copy, BrokerConfig()), GroupTable(copy, BrokerConfig())
    topics.load()
    groups.load()
    return topics, groups


ANY = frozenset(range(-1, 4000))
"""Every response code: the test looks at it itself."""


def text_of(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())


@dataclass
class Talker:
    """A client with one address to talk to."""

    address: str
    client_id: str = "c1"
    heard: list[Frame] = field(default_factory=list)
    answers: dict[int, Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        codes = (
            Code.NOTIFY_CONSUMER_IDS_CHANGED,
            Code.GET_CONSUMER_RUNNING_INFO,
            Code.CONSUME_MESSAGE_DIRECTLY,
            Code.RESET_CONSUMER_CLIENT_OFFSET,
            Code.GET_CONSUMER_STATUS_FROM_CLIENT,
            Code.PUSH_REPLY_MESSAGE_TO_CLIENT,
            Code.CHECK_TRANSACTION_STATE,
        )
        self.client = Client(handlers=dict.fromkeys(codes, self._hear))

    def _hear(self, request: Frame) -> Frame | None:
        self.heard.append(request)
        return self.answers.get(request.code)

    async def ask(self, code: int, fields: Mapping[str, object] | None = None, body: bytes = b"") -> Frame:
        texts = {key: str(value) for key, value in (fields or {}).items()}
        return await self.client.call(self.address, code, fields=texts, body=body, accept=ANY, timeout=20.0)

    async def send(
        self,
        topic: str,
        body: bytes = b"hello",
        *,
        queue_id: int = 0,
        properties: Mapping[str, str] | None = None,
        default_topic: str = "TBW102",
        queues: int = 4,
        batch: bool = False,
        sys_flag: int = 0,
        reconsume_times: int = 0,
        max_reconsume_times: int | None = None,
        born_timestamp: int = 1_700_000_000_000,
    ) -> Frame:
        header = SendMessageRequestHeader(
            producer_group="P",
            topic=topic,
            default_topic=default_topic,
            default_topic_queue_nums=queues,
            queue_id=queue_id,
            sys_flag=sys_flag,
            born_timestamp=born_timestamp,
            flag=0,
            properties=text_of(properties or {}),
            reconsume_times=reconsume_times,
            max_reconsume_times=max_reconsume_times,
            batch=batch,
        )
        code = Code.SEND_BATCH_MESSAGE if batch else Code.SEND_MESSAGE_V2
        return await self.ask(code, header.encode(short=True), body)

    async def pull(
        self,
        topic: str,
        group: str = "G",
        *,
        queue_id: int = 0,
        offset: int = 0,
        subscription: str | None = "*",
        version: int = 0,
        kind: str = "TAG",
        hold_ms: int = 0,
        commit: int | None = None,
    ) -> Frame:
        flags = (4 if subscription is not None else 0) | (2 if hold_ms else 0) | (commit is not None)
        header = PullMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=int(flags),
            commit_offset=commit or 0,
            suspend_timeout_millis=hold_ms,
            subscription=subscription,
            sub_version=version,
            expression_type=kind,
        )
        return await self.ask(Code.PULL_MESSAGE, header.encode())

    async def read(self, topic: str, count: int, *, queue_id: int = 0) -> list[Message]:
        """Pull what was sent; a message can be read a moment after its send was answered."""

        async def there() -> list[Message]:
            found = messages((await self.pull(topic, queue_id=queue_id)).body)
            return found if len(found) >= count else []

        return await eventually(there)

    async def beat(
        self,
        group: str = "G",
        topics: Mapping[str, str] | None = None,
        *,
        version: int = 1,
        kind: str = "TAG",
        model: MessageModel = MessageModel.CLUSTERING,
        producer: str | None = None,
    ) -> Frame:
        subscriptions = [
            SubscriptionData(
                topic=topic,
                sub_string=expression,
                sub_version=version,
                tags_set=[] if expression == "*" else expression.split("||"),
                expression_type=kind,
            )
            for topic, expression in (topics or {}).items()
        ]
        beat = HeartbeatData(
            client_id=self.client_id,
            producer_data_set=[ProducerData(group_name=producer)] if producer else [],
            consumer_data_set=[
                ConsumerData(
                    group_name=group,
                    consume_type=ConsumeType.CONSUME_PASSIVELY,
                    message_model=model,
                    consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
                    subscription_data_set=subscriptions,
                )
            ]
            if topics is not None
            else [],
        )
        return await self.ask(Code.HEART_BEAT, body=beat.to_json())


def messages(body: bytes) -> list[Message]:
    """Take the records of a pull's answer apart."""
    found = []
    while body:
        size = int.from_bytes(body[:4], "big")
        found.append(Message.decode(body[:size]))
        body = body[size:]
    return found


@contextlib.asynccontextmanager
async def running(data: Path, **settings: object) -> AsyncIterator[tuple[Node, Broker, Talker]]:
    """Start name server and broker, with someone to talk to them."""
    async with Node(data, small_files=True, settings=settings) as node:
        talker = Talker(node.broker.address)
        try:
            yield node, node.broker, talker
        finally:
            await talker.client.stop()


async def eventually(condition: Callable[[], Awaitable[Found]], seconds: float = 15.0) -> Found:
    """Await an async condition until it gives something true."""
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
    return found


OK = ResponseCode.SUCCESS
