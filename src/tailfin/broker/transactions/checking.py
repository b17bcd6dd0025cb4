"""Asking producers about halves that they kept silent about."""

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import REAL_TOPIC
from tailfin.broker.transactions import halves
from tailfin.broker.transactions.closing import Closer, Closing, Result
from tailfin.broker.transactions.counting import OpenCounts
from tailfin.broker.transactions.finding import was_committed
from tailfin.broker.transactions.judging import Rules, Verdict, judge
from tailfin.broker.transactions.ledger import Ledger
from tailfin.message import Message, encode_record
from tailfin.store import Appended, AppendRefused, StoreDamaged
from tailfin.wire.codes import Code
from tailfin.wire.headers.send import CheckTransactionStateRequestHeader

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

HOUR_MS = 3_600_000
HELD_UP_MAX = 4096
"""An immune half is put back when more closed ones than this have to be remembered because of it."""
GIVEN_UP_QUEUES = 1


class Checks:
    """Rounds over the open halves."""

    def __init__(self, broker: "Broker", ledger: Ledger, closer: Closer, counts: OpenCounts) -> None:
        self._broker = broker
        self._ledger = ledger
        self._closer = closer
        self._counts = counts
        self._turn = 0

    async def run(self) -> None:
        """Begin a round every `transactionCheckInterval`, for ever."""
        while True:
            await self._broker.clock.sleep(self._broker.config.transactionCheckInterval / 1000)
            try:
                await self.round()
            except Exception:
                log.exception("a round over the open transactions failed; the next one goes on")

    async def round(self) -> None:
        """Look once at every open half that is old enough."""
        store, ledger = self._broker.store, self._ledger
        ledger.skip_to(store.min_offset(names.HALF_TOPIC, halves.QUEUE))
        end = store.max_offset(names.HALF_TOPIC, halves.QUEUE)
        began_ms = self._broker.clock.now_ms()
        unheard: Counter[str] = Counter()
        offset = ledger.first
        while offset < end:
            if not ledger.is_open(offset):
                offset += 1
                continue
            try:
                found, following = ledger.read(names.HALF_TOPIC, offset)
            except StoreDamaged as damage:
                log.error("an open transaction cannot be read, and is closed: %s", damage)
                await self._closer.close(Closing(offset, None))
                found, following = [], offset + 1
            if not await self._look(found, self._rules(began_ms), unheard):
                break
            offset = following
        for group, count in unheard.items():
            log.warning("no producer of group %s is there to be asked about %d transactions", group, count)

    def _rules(self, began_ms: int) -> Rules:
        config = self._broker.config
        return Rules(
            now_ms=self._broker.clock.now_ms(),
            round_began_ms=began_ms,
            timeout_ms=config.transactionTimeOut,
            checks_max=config.transactionCheckMax,
            age_max_ms=self._broker.settings.store.fileReservedTime * HOUR_MS,
            clock=self._broker.clock,
        )

    async def _look(self, found: list[Message], rules: Rules, unheard: Counter[str]) -> bool:
        """Deal with some halves; False when the round has come to those that are too young."""
        over = await asyncio.to_thread(self._over, found)
        due: list[tuple[Message, Verdict, asyncio.Future[Result]]] = []
        goes_on = True
        for half in found:
            if not self._ledger.is_open(half.queue_offset):
                continue
            verdict = Verdict.OVER if half.queue_offset in over else judge(half, rules)
            if verdict is Verdict.NOT_YET:
                goes_on = False
                break
            if verdict is Verdict.IMMUNE and self._ledger.held_up <= HELD_UP_MAX:
                continue
            due.append((half, verdict, self._closer.close(self._closing(half, verdict))))
        for half, verdict, future in due:
            result = await future
            if isinstance(result, AppendRefused):
                log.warning("an open transaction cannot be moved on: %s; the next round tries again", result)
                goes_on = False
            else:
                self._settle(half, verdict, result, unheard)
        return goes_on

    def _over(self, found: list[Message]) -> set[int]:
        """Return which halves from before the start were committed then."""
        inherited = [half for half in found if half.queue_offset < self._ledger.inherited]
        return {half.queue_offset for half in inherited if was_committed(self._broker.store, half)}

    def _closing(self, half: Message, verdict: Verdict) -> Closing:
        offset, key = half.queue_offset, half.unique_key
        match verdict:
            case Verdict.OVER:
                return Closing(offset, key)
            case Verdict.GIVE_UP:
                self._broker.topics.create_for_group(names.CHECK_MAX_TOPIC, GIVEN_UP_QUEUES)
                return Closing(offset, key, halves.given_up(half))
            case Verdict.IMMUNE:
                return Closing(offset, key, halves.moved_on(half), goes_on=True)
            case _:
                return Closing(offset, key, halves.asked_once_more(half), goes_on=True)

    def _settle(
        self, half: Message, verdict: Verdict, stored: Appended | None, unheard: Counter[str]
    ) -> None:
        if verdict in (Verdict.GIVE_UP, Verdict.OVER):
            self._counts.ended(halves.real_topic(half))
        if verdict is Verdict.GIVE_UP and stored:
            log.error(
                "transaction %s of topic %s was never ended; it is now in %s, message %s",
                half.unique_key,
                halves.real_topic(half),
                names.CHECK_MAX_TOPIC,
                stored.message_id,
            )
        if verdict is Verdict.ASK and stored and not self._ask(half, stored):
            unheard[half.get_property(halves.PRODUCER_GROUP) or ""] += 1

    def _ask(self, half: Message, stored: Appended) -> bool:
        """Ask one live producer of the group, each in turn; False when there is none."""
        header = CheckTransactionStateRequestHeader(
            topic=half.topic,
            tran_state_table_offset=stored.queue_offset,
            commit_log_offset=stored.physical_offset,
            msg_id=half.unique_key,
            transaction_id=half.unique_key,
            offset_msg_id=stored.message_id,
            bname=self._broker.config.brokerName,
        )
        producers = self._broker.clients.producers(half.get_property(halves.PRODUCER_GROUP) or "")
        for _ in producers:
            self._turn += 1
            producer = producers[self._turn % len(producers)]
            body = _as_the_producer_knows_it(half, stored)
            if self._broker.server.notify(
                producer.connection, Code.CHECK_TRANSACTION_STATE, header=header, body=body
            ):
                return True
        return False


def _as_the_producer_knows_it(half: Message, stored: Appended) -> bytes:
    """Encode a half with its real topic and queue."""
    copy = halves.asked_once_more(half)
    text = "".join(f"{name}\x01{value}\x02" for name, value in copy.properties.items())
    return encode_record(
        topic=copy.properties.get(REAL_TOPIC, half.topic),
        queue_id=halves.real_queue(half),
        body=half.body,
        properties=text.encode(),
        flag=half.flag,
        sys_flag=half.sys_flag,
        queue_offset=stored.queue_offset,
        physical_offset=stored.physical_offset,
        born_timestamp=half.born_timestamp,
        born_host=half.born_host,
        store_timestamp=half.store_timestamp,
        store_host=half.store_host,
        reconsume_times=half.reconsume_times,
        prepared_offset=half.prepared_offset,
    )
