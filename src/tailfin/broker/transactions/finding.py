"""Looking for the message of a transaction that was committed, but whose half still counts as open.

Tailfin stores both as one unit. RocketMQ stores the message first and the op record up to some seconds
later; a directory it left by a kill has such halves, and asking their producers would double the messages.
"""

from tailfin.broker import names
from tailfin.broker.transactions import halves
from tailfin.message import Message
from tailfin.store import Store

INDEX_STEP_MS = 1000
"""The key index keeps whole seconds."""


def was_committed(store: Store, half: Message) -> bool:
    """Whether the message of a half is in the log; a delayed one may still wait."""
    key = half.unique_key
    if not key:
        return False
    # A copy of a half is younger than what its original became.
    begin = min(half.born_timestamp, half.store_timestamp) - INDEX_STEP_MS
    for topic in (halves.real_topic(half), names.SCHEDULE_TOPIC, names.TIMER_TOPIC):
        for message in store.query(topic or "", key, begin=max(begin, 0)):
            if message.sys_flag & halves.KIND_BITS == halves.COMMIT and halves.identity(
                message
            ) == halves.identity(half):
                return True
    return False
