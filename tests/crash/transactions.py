"""Producers of transactions that know what they decided, whatever happens to the broker meanwhile."""

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tailfin.broker.names import HALF_TOPIC, TRANSACTION_GROUP
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, messages
from tests.unit.broker.transactions.acting import COMMIT, ROLLBACK, UNKNOWN, Prepared, Producer

TOPIC = "Orders"
QUEUES = 4
GONE = (RemotingError, OSError)
"""What a client sees of a broker that is not there."""


@dataclass
class Fate:
    """What its producer wants of a transaction, and says when asked."""

    commits: bool
    ends_itself: bool
    unknowns: int
    """How often it answers that it does not know yet."""
    is_known: bool = False
    """Whether the half is stored for sure: before that there is nothing to decide."""

    def word(self) -> int:
        if not self.is_known or self.unknowns > 0:
            self.unknowns -= 1
            return UNKNOWN
        return COMMIT if self.commits else ROLLBACK


@dataclass
class Book:
    """All transactions, as a database shared by the producers would have them."""

    chance: random.Random
    fates: dict[str, Fate] = field(default_factory=dict)
    stored: int = 0
    asked: int = 0

    def new(self) -> str:
        key = f"K{len(self.fates)}"
        self.fates[key] = Fate(
            commits=self.chance.random() < 0.6,
            ends_itself=self.chance.random() < 0.7,
            unknowns=self.chance.choice((0, 0, 0, 1, 2)),
        )
        return key

    def committed(self) -> set[str]:
        return {key for key, fate in self.fates.items() if fate.commits}


@dataclass
class Maker(Producer):
    """A producer that works through transactions, as long as it lives."""

    book: Book = field(default_factory=lambda: Book(random.Random(0)))
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def _hear(self, request: Frame) -> Frame | None:
        if request.code == Code.CHECK_TRANSACTION_STATE:
            self.book.asked += 1
            task = asyncio.get_running_loop().create_task(self._say(request))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return None

    async def _say(self, question: Frame) -> None:
        fields = question.fields
        half = Prepared(int(fields["tranStateTableOffset"]), int(fields["commitLogOffset"]), fields["msgId"])
        await self._end(half, self.book.fates[half.key].word(), asked=True)

    async def _end(self, half: Prepared, word: int, *, asked: bool) -> None:
        fields = self.end_fields(half, word) | {"fromTransactionCheck": str(asked).lower()}
        texts = {key: str(value) for key, value in fields.items()}
        # A word that is lost with the broker: it will ask.
        with contextlib.suppress(*GONE):
            await self.client.notify(self.address, Code.END_TRANSACTION, fields=texts)

    async def one(self) -> bool:
        """Begin a transaction and, perhaps, end it; False when the broker was not there to store the half."""
        key = self.book.new()
        fate = self.book.fates[key]
        try:
            half = await self.prepare(TOPIC, key.encode(), queue_id=self.book.stored % QUEUES, UNIQ_KEY=key)
        except (*GONE, asyncio.CancelledError) as gone:
            # The half may be stored or not: nothing was done that it could stand for.
            fate.commits, fate.is_known = False, True
            if isinstance(gone, asyncio.CancelledError):
                raise
            return False
        self.book.stored += 1
        fate.is_known = True
        if fate.ends_itself:
            await asyncio.sleep(self.book.chance.random() * 0.02)
            await self._end(half, COMMIT if fate.commits else ROLLBACK, asked=False)
        return True

    async def keep_beating(self) -> None:
        """Stay known to the broker, also to one that was started anew."""
        while True:
            with contextlib.suppress(*GONE):
                await self.join()
            await asyncio.sleep(0.1)


async def open_halves(asker: Producer) -> int:
    """Return how many halves the broker has not done with."""
    place = {"consumerGroup": TRANSACTION_GROUP, "topic": HALF_TOPIC, "queueId": 0}
    end = await asker.ask(Code.GET_MAX_OFFSET, place)
    done = await asker.ask(Code.QUERY_CONSUMER_OFFSET, place)
    return int(end.fields["offset"]) - int(done.fields.get("offset", 0))


async def consumed(reader: Producer) -> Counter[str]:
    """Read everything, and count each transaction's messages."""
    found: Counter[str] = Counter()
    for queue_id in range(QUEUES):
        offset = 0
        while True:
            answer = await reader.pull(TOPIC, queue_id=queue_id, offset=offset)
            if answer.code != OK:
                break
            taken = messages(answer.body)
            assert all(message.body.decode() == message.unique_key for message in taken)
            found.update(message.unique_key or "" for message in taken)
            offset = int(answer.fields["nextBeginOffset"])
    return found


def settings(data: Path, port: int) -> str:
    """Return the file of a broker that asks often."""
    lines = {
        "brokerName": "broker-a",
        "brokerIP1": "127.0.0.1",
        "bindAddress": "127.0.0.1",
        "listenPort": port,
        "storePathRootDir": data,
        "mappedFileSizeCommitLog": 4 << 20,
        "mappedFileSizeConsumeQueue": 20 * 1000,
        "maxHashSlotNum": 5000,
        "maxIndexNum": 20_000,
        "diskMaxUsedSpaceRatio": 99,
        "transactionTimeOut": 300,
        "transactionCheckInterval": 150,
        "transactionCheckMax": 100_000,
        "flushConsumerOffsetInterval": 200,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())
