"""Ends of half messages: committed, or rolled back."""

import logging
import time
from collections.abc import Iterable

from tailfin._engine import decode_handles, encode_handles
from tailfin.admin.reading import GROUP
from tailfin.broker.names import OP_TOPIC
from tailfin.client.consuming.positions import Positions
from tailfin.client.consuming.pulling import pull_once
from tailfin.client.consuming.subscriptions import subscription
from tailfin.client.errors import UNREACHABLE, ClientError
from tailfin.client.messages import Message
from tailfin.client.queues import Queue
from tailfin.spark.sink.decisions import Decision, Halves
from tailfin.spark.sink.line import Line
from tailfin.wire.bodies.common import KVTable
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms

log = logging.getLogger("tailfin.spark")

PAGE = 32
HOLD_S = 0.5
TRY_AGAIN_S = 0.5
END_TIMEOUT_MS = 10_000
SENTINEL = b"This message only shows that those before it are dealt with."

Unended = tuple[int, int, int, str]
"""Offset in the log, in the queue of halves, code and remark."""


class NotCommitted(ClientError):
    """Messages of a batch that is decided could not be committed."""


class Endings:
    """Ends the halves of one batch.

    Args:
        line: the process's line.
        id: of the decision; brokers write it into their logs.
    """

    def __init__(self, line: Line, id: str) -> None:
        self._line = line
        self._id = id

    def rollback(self, halves: Iterable[Halves]) -> None:
        """Drop messages; those that a broker does not hear of it drops by itself, later."""
        for each in halves:
            try:
                unended = self._end(each, commits=False)
            except (ClientError, RemotingError) as error:
                log.warning(
                    "%s does not hear of a rollback, and drops the messages later: %s", each.broker, error
                )
                continue
            if unended:
                log.warning(
                    "%s drops %d messages later, it says: %s", each.broker, len(unended), unended[0][3]
                )

    def commit(self, decision: Decision, *, is_first: bool) -> None:
        """Commit messages, every one once, however often it is called.

        Args:
            decision: which.
            is_first: nobody has tried before.

        Raises:
            NotCommitted: some could not be; try again later.
        """
        deadline = time.monotonic() + self._line.options.sendTimeoutMs / 1000
        for halves in decision.halves:
            self._commit(halves, decision, is_first, deadline)

    def _commit(self, halves: Halves, decision: Decision, is_first: bool, deadline: float) -> None:
        as_asked = False
        while True:
            try:
                left = halves if is_first else self._still_open(halves, decision)
                is_first = False
                unended = self._end(left, commits=True, as_asked=as_asked)
            except (ClientError, RemotingError) as error:
                if time.monotonic() > deadline:
                    raise NotCommitted(f"{halves.broker} could not be asked to commit: {error}") from error
                time.sleep(TRY_AGAIN_S)
                continue
            if not unended:
                return
            _, _, code, remark = unended[0]
            # Brokers take a word that comes late only if it could be the answer to a question of theirs.
            if code == ResponseCode.ILLEGAL_OPERATION and not as_asked:
                as_asked = True
                continue
            if _is_final(code) or time.monotonic() > deadline:
                raise NotCommitted(
                    f"{len(unended)} of {len(decode_handles(halves.handles))} messages that were decided "
                    f"for topic {halves.topic!r} at {halves.broker} cannot be committed: "
                    f"{RemotingError(code, remark)}"
                )
            time.sleep(TRY_AGAIN_S)

    def _end(self, halves: Halves, *, commits: bool, as_asked: bool = False) -> list[Unended]:
        return self._line.courier.end_transactions(
            self._line.address_of(halves.broker, halves.topic),
            halves.handles,
            group=self._line.group,
            topic=halves.topic,
            commits=commits,
            id=self._id,
            as_asked=as_asked,
            window=self._line.options.maxInFlight,
            timeout_ms=END_TIMEOUT_MS,
        )

    def _still_open(self, halves: Halves, decision: Decision) -> Halves:
        """Leave out what is committed already, for a broker that would store it twice."""
        if self._line.run(self._ends_once(halves)):
            return halves
        ended = self._line.run(self._ended(halves, decision.ended_from.get(halves.broker, 0)))
        pairs = [pair for pair in decode_handles(halves.handles) if pair[1] not in ended]
        return Halves(halves.broker, halves.topic, encode_handles(pairs))

    async def _ends_once(self, halves: Halves) -> bool:
        """Whether a broker ends a transaction once, however often it is told: Tailfin's do."""
        address = self._line.network.address_of(halves.broker)
        try:
            answer = await self._line.network.call(address, Code.GET_BROKER_RUNTIME_INFO)
        except RemotingError as error:
            if error.code in UNREACHABLE:
                raise
            return False
        return "tailfinVersion" in KVTable.from_json(answer.body).table

    async def _ended(self, halves: Halves, offset: int) -> set[int]:
        """Return which halves a broker has ended since an offset of its topic of ended ones.

        RocketMQ writes there seconds later, in order. So another half is ended now, and is waited for.
        """
        last = await self._sentinel(halves)
        network = self._line.network
        queue = Queue(OP_TOPIC, halves.broker, 0)
        wanted = subscription(OP_TOPIC, "*", now_ms())
        deadline = time.monotonic() + self._line.options.sendTimeoutMs / 1000
        ended: set[int] = set()
        while last not in ended:
            pulled = await pull_once(
                network, queue, group=GROUP, subscription=wanted, offset=offset, limit=PAGE, hold=HOLD_S
            )
            for op in pulled.messages:
                ended.update(int(part) for part in op.body.decode().split(",") if part.isdecimal())
            if time.monotonic() > deadline:
                raise ClientError(f"{halves.broker} does not show in {OP_TOPIC} which transactions are ended")
            offset = max(pulled.next_offset, offset)
        return ended

    async def _sentinel(self, halves: Halves) -> int:
        """Send a half and roll it back; return where it stands in the queue of halves."""
        marks = {"TRAN_MSG": "true", "PGROUP": self._line.group}
        topic = self._line.production.letters.user_topic(halves.topic)
        place = Queue(topic, halves.broker, 0)
        result = await self._line.producer.send(Message(topic, SENTINEL, properties=marks), queue=place)
        decision = await self._line.production.transactions.opened(Message(topic, SENTINEL), result)
        decision.rollback()
        await self._line.producer.end_transaction(decision)
        return result.queue_offset


async def ended_from(line: Line, brokers: Iterable[str]) -> dict[str, int]:
    """Return where each broker's topic of ended transactions ends now."""
    positions = Positions(line.network)
    return {name: max(await positions.end(Queue(OP_TOPIC, name, 0)), 0) for name in sorted(set(brokers))}


def half_marks(line: Line) -> dict[str, str]:
    """Return the properties that make a message a half of this line's group."""
    return {
        "TRAN_MSG": "true",
        "PGROUP": line.group,
        "CHECK_IMMUNITY_TIME_IN_SECONDS": str(line.options.transactionTimeoutS),
    }


def _is_final(code: int) -> bool:
    """Whether a broker said no, and will not say otherwise."""
    return code == ResponseCode.SYSTEM_ERROR
