"""Halves that nobody will end, since their task or driver died: what brokers are told when they ask."""

import logging
import time
from collections.abc import Awaitable, Callable

from tailfin.client.errors import ClientError
from tailfin.client.messages import ReceivedMessage
from tailfin.client.transactions import Transaction
from tailfin.spark.sink.decisions import BATCH, QUERY, BatchName, History
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.spark")

KNOWN_FOR_S = 5.0
"""Brokers ask about all halves of a batch one after the other."""


class Orphans:
    """Answers brokers' questions.

    Args:
        look: finds out what is decided about a batch.
        clock: tells the time in seconds.
    """

    def __init__(
        self, look: Callable[[BatchName], Awaitable[History]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._clock = clock
        self._known: dict[BatchName, tuple[float, Transaction]] = {}

    async def fate(self, message: ReceivedMessage) -> Transaction:
        """Say what is to become of a half: it is dropped once all of its batch that counts is committed."""
        query, batch = message.property(QUERY), message.property(BATCH)
        if query is None or batch is None or not batch.isdecimal():
            return Transaction.UNKNOWN
        name = BatchName(query, int(batch))
        now = self._clock()
        self._known = {each: found for each, found in self._known.items() if found[0] > now - KNOWN_FOR_S}
        if name not in self._known:
            self._known[name] = now, await self._found(name)
        return self._known[name][1]

    async def _found(self, name: BatchName) -> Transaction:
        try:
            history = await self._look(name)
        except (ClientError, RemotingError) as error:
            log.warning("what became of %s cannot be said: %s", name, error)
            return Transaction.UNKNOWN
        is_over = history.is_done(name.batch) or history.newest > name.batch
        return Transaction.ROLLBACK if is_over else Transaction.UNKNOWN
