"""Open transactions, as the file `transactionMetrics` holds them."""

from dataclasses import field

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, body


@body
class TransactionCount(Body):
    """How many transactions of a topic are open, and since when that is so."""

    count: int = 0
    time_stamp: int = 0


@body
class TransactionMetrics(Body):
    """Open transactions by topic."""

    transaction_count: dict[str, TransactionCount] = field(default_factory=dict)
    data_version: DataVersion | None = None
