"""Each message once: brokers deliver at least once, and a handler that minds has repetitions left out by key.

- `keys`: where it is remembered which keys are done; in memory, or in an SQLite file
- `handling`: the handler round a handler
"""

from tailfin.client.once.handling import once
from tailfin.client.once.keys import Claim, Keys, MemoryKeys
from tailfin.client.once.sqlite import SqliteKeys

__all__ = ["Claim", "Keys", "MemoryKeys", "SqliteKeys", "once"]
