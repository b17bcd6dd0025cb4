"""RocketMQ's log store, embedded.

```python
from tailfin.store import Store

with Store("data") as store:
    store.append("FooBar", b"Once, there was a chance for me!", queue_id=0, keys="k1", tags="TagA")
    for message in store.read("FooBar", 0, offset=0, limit=32):
        print(message.queue_offset, message.body)
```
"""

from tailfin._engine import (
    Appended,
    AppendRefused,
    DelayLevels,
    Message,
    OfflineLog,
    ReadResult,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreLocked,
    Timer,
)
from tailfin.config.store import StoreConfig
from tailfin.store.store import Store

__all__ = [
    "AppendRefused",
    "Appended",
    "DelayLevels",
    "Message",
    "OfflineLog",
    "ReadResult",
    "Store",
    "StoreClosed",
    "StoreConfig",
    "StoreDamaged",
    "StoreError",
    "StoreLocked",
    "Timer",
]
