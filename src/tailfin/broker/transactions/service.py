"""The transactions of a broker: their parts, and when they load, run and end."""

import asyncio
import logging
from typing import TYPE_CHECKING

from tailfin.broker.transactions.checking import Checks
from tailfin.broker.transactions.closing import Closer
from tailfin.broker.transactions.counting import OpenCounts
from tailfin.broker.transactions.ending import Endings
from tailfin.broker.transactions.ledger import Ledger
from tailfin.broker.transactions.resuming import Resuming

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")


class Transactions:
    """What the broker knows of open transactions, and does about them."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.ledger = Ledger(broker.store, broker.offsets)
        self.counts = OpenCounts(broker.config_folder, broker.hot)
        self.closer = Closer(broker.store, self.ledger, lambda: broker.config.transactionOpMsgMaxSize)
        self.checks = Checks(broker, self.ledger, self.closer, self.counts)
        broker.offsets.before_write = self.ledger.publish

    def load(self) -> None:
        """Find out from the store what is open; a slave does so again when it becomes master."""
        self.counts.load(self.ledger.load())

    def handlers(self) -> tuple[object, ...]:
        """Return what answers requests about transactions."""
        return (
            Endings(self._broker, self.ledger, self.closer, self.counts),
            Resuming(self._broker, self.ledger, self.counts),
        )

    async def keep_counts(self) -> None:
        """Write the counts down every `transactionMetricFlushInterval`, for ever."""
        while True:
            await asyncio.sleep(self._broker.config.transactionMetricFlushInterval / 1000)
            try:
                self.counts.persist_if_changed()
            except OSError:
                log.exception("the counts of open transactions could not be written; it is tried again")
