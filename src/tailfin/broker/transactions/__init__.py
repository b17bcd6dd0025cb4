"""Transactions: messages that wait for their producer's word, and what becomes of them.

A producer's message is first stored as a *half* in a topic that nobody reads. Its producer ends the
transaction, or is asked for the outcome when it keeps silent. Whatever then takes the half's place (the
message itself, a copy at the end of the queue, one among the given-up, or nothing) goes into the log
together with the *op* record that closes the half, as one unit: a kill leaves both or neither, so that no
message is lost or doubled.

- `halves`: what the records look like
- `ledger`: which halves are open, and how far that is written down
- `closing`: puts what takes a half's place, and its op record, into the log
- `ending`: END_TRANSACTION
- `finding`: what was committed although its half still counts as open
- `judging`, `checking`: which halves are due, and asking their producers
- `resuming`: an operator's word to ask again for a half that was given up
- `counting`: how many are open by topic, in the file `transactionMetrics`
- `service`: all of it, put together for the broker
"""

from tailfin.broker.transactions.service import Transactions

__all__ = ["Transactions"]
