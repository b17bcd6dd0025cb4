"""A producer of transactions, and a broker that is quick to ask."""

import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailfin.broker.app import Broker
from tailfin.broker.names import HALF_TOPIC
from tailfin.cluster import Node
from tailfin.message import Message, decode_message_id
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tailfin.wire.headers.send import CheckTransactionStateRequestHeader, SendMessageRequestHeader
from tests.unit.broker.talking import OK, Talker, text_of
from tests.unit.loops import until

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
NEVER = {"transactionCheckInterval": 3_600_000}
"""Settings of a broker that asks only when a test has it do so."""
AT_ONCE = {**NEVER, "transactionTimeOut": 0}
"""The same, and halves are due at once."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Prepared:
    """What a producer knows of a half."""

    offset: int
    place: int
    key: str


@dataclass
class Producer(Talker):
    """A member of a producer group."""

    group: str = "makers"

    @property
    def asked(self) -> list[Frame]:
        """The questions about halves that came so far."""
        return [each for each in self.heard if each.code == Code.CHECK_TRANSACTION_STATE]

    async def join(self) -> None:
        await self.beat(producer=self.group)

    async def prepare(
        self,
        topic: str = "Orders",
        body: bytes = b"pizza",
        *,
        queue_id: int = 1,
        born_ms: int | None = None,
        flag: int = 0,
        **properties: str,
    ) -> Prepared:
        answer = await self.send_half(
            topic, body, queue_id=queue_id, born_ms=born_ms, flag=flag, properties=properties
        )
        assert answer.code == OK, answer.remark
        _, place = decode_message_id(answer.fields["msgId"])
        return Prepared(int(answer.fields["queueOffset"]), place, answer.fields["transactionId"])

    async def send_half(
        self,
        topic: str,
        body: bytes,
        *,
        queue_id: int = 1,
        born_ms: int | None = None,
        flag: int = 0,
        reconsume_times: int = 0,
        properties: Mapping[str, str],
    ) -> Frame:
        marks = {"TRAN_MSG": "true", "PGROUP": self.group, "TAGS": "TagA", **properties}
        header = SendMessageRequestHeader(
            producer_group=self.group,
            topic=topic,
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=queue_id,
            sys_flag=4,
            born_timestamp=now_ms() if born_ms is None else born_ms,
            flag=flag,
            properties=text_of(marks),
            reconsume_times=reconsume_times,
        )
        return await self.ask(Code.SEND_MESSAGE_V2, header.encode(short=True), body)

    async def end(self, half: Prepared, how: int, **changes: object) -> Frame:
        return await self.ask(Code.END_TRANSACTION, self.end_fields(half, how) | changes)

    async def end_oneway(self, half: Prepared, how: int) -> None:
        """End a transaction as the official clients do."""
        texts = {key: str(value) for key, value in self.end_fields(half, how).items()}
        await self.client.notify(self.address, Code.END_TRANSACTION, fields=texts)

    def end_fields(self, half: Prepared, how: int) -> dict[str, object]:
        return {
            "producerGroup": self.group,
            "tranStateTableOffset": half.offset,
            "commitLogOffset": half.place,
            "commitOrRollback": how,
            "fromTransactionCheck": "false",
            "msgId": half.key,
            "transactionId": half.key,
        }

    async def answer(self, question: Frame, how: int) -> Frame:
        """Answer what the broker asked."""
        return await self.end(_named_by(question), how, fromTransactionCheck="true")

    def asked_half(self) -> Prepared:
        """Return the half of the last question."""
        return _named_by(self.asked[-1])

    async def ordered(self, count: int = 1, topic: str = "Orders") -> list[Message]:
        """Read what was committed."""
        return await self.read(topic, count, queue_id=1)


def _named_by(question: Frame) -> Prepared:
    header = CheckTransactionStateRequestHeader.decode(question.fields)
    return Prepared(header.tran_state_table_offset, header.commit_log_offset, header.msg_id or "")


@contextlib.asynccontextmanager
async def acting(data: Path, **settings: object) -> AsyncIterator[tuple[Broker, Producer]]:
    """Run a broker with a producer that has joined its group."""
    async with Node(data, small_files=True, settings=NEVER | settings) as node:
        producer = Producer(node.broker.address)
        try:
            await producer.join()
            yield node.broker, producer
        finally:
            await producer.client.stop()


def killed(data: Path, copy: Path) -> Path:
    """Return a directory as a kill at this moment would leave it."""
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("lock"))
    return copy


def open_halves(broker: Broker) -> list[int]:
    """Offsets of the halves that wait for their end."""
    ledger = broker.transactions.ledger
    end = broker.store.max_offset(HALF_TOPIC, 0)
    return [offset for offset in range(ledger.first, end) if ledger.is_open(offset)]


async def next_moment(broker: Broker) -> None:
    """Let the clock move on, so that what is stored is older than what begins now."""
    newest = broker.store.max_offset(HALF_TOPIC, 0) - 1
    stored = broker.store.read(HALF_TOPIC, 0, newest)[0].store_timestamp
    await until(lambda: now_ms() > stored, "the next millisecond")


async def check(broker: Broker, rounds: int = 1) -> None:
    """Have the broker look at its open halves."""
    for _ in range(rounds):
        await next_moment(broker)
        await broker.transactions.checks.round()
