"""RocketMQ in Python on a Rust engine: the same wire protocol, the same files on disk.

```python
import tailfin

with tailfin.Producer("shop", nameserver="127.0.0.1:9876") as producer:
    producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
```

`tailfin.aio` has the same names to `await`; `tailfin.store.Store` is the log store as an embedded library.
docs/architecture.md says how the parts hang together.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailfin import aio as aio
    from tailfin.admin.blocking import AdminClient as AdminClient
    from tailfin.arrow.table import read_batches as read_batches
    from tailfin.arrow.table import read_table as read_table
    from tailfin.client.blocking.lite_pull_consumer import LitePullConsumer as LitePullConsumer
    from tailfin.client.blocking.producer import Producer as Producer
    from tailfin.client.blocking.pull_consumer import PullConsumer as PullConsumer
    from tailfin.client.blocking.push_consumer import PushConsumer as PushConsumer
    from tailfin.client.blocking.receipts import Receipt as Receipt
    from tailfin.client.consuming.handlers import RETRY as RETRY
    from tailfin.client.consuming.handlers import Retry as Retry
    from tailfin.client.consuming.offsets import OffsetStore as OffsetStore
    from tailfin.client.consuming.pull import PullResult as PullResult
    from tailfin.client.consuming.pull import PullStatus as PullStatus
    from tailfin.client.consuming.stats import ConsumerStats as ConsumerStats
    from tailfin.client.consuming.stats import QueueStats as QueueStats
    from tailfin.client.consuming.subscriptions import Sql as Sql
    from tailfin.client.errors import ClientError as ClientError
    from tailfin.client.errors import ClientStopped as ClientStopped
    from tailfin.client.errors import DataLost as DataLost
    from tailfin.client.errors import MessageRefused as MessageRefused
    from tailfin.client.errors import NoBroker as NoBroker
    from tailfin.client.errors import NoNameServer as NoNameServer
    from tailfin.client.errors import NoRoute as NoRoute
    from tailfin.client.errors import ReadFailed as ReadFailed
    from tailfin.client.errors import RequestTimeout as RequestTimeout
    from tailfin.client.errors import SendFailed as SendFailed
    from tailfin.client.errors import SendTimeout as SendTimeout
    from tailfin.client.hooks import Consuming as Consuming
    from tailfin.client.hooks import EndingTransaction as EndingTransaction
    from tailfin.client.hooks import Hook as Hook
    from tailfin.client.hooks import Sending as Sending
    from tailfin.client.messages import Message as Message
    from tailfin.client.messages import ReceivedMessage as ReceivedMessage
    from tailfin.client.once import MemoryKeys as MemoryKeys
    from tailfin.client.once import SqliteKeys as SqliteKeys
    from tailfin.client.once import once as once
    from tailfin.client.options import ClientOptions as ClientOptions
    from tailfin.client.producer_options import ProducerOptions as ProducerOptions
    from tailfin.client.queues import Queue as Queue
    from tailfin.client.rebalance import Averagely as Averagely
    from tailfin.client.rebalance import ByCircle as ByCircle
    from tailfin.client.rebalance import ByConfig as ByConfig
    from tailfin.client.rebalance import ByMachineRoom as ByMachineRoom
    from tailfin.client.rebalance import ConsistentHash as ConsistentHash
    from tailfin.client.rebalance import MachineRoomNearby as MachineRoomNearby
    from tailfin.client.rebalance import Rooms as Rooms
    from tailfin.client.rebalance import Strategy as Strategy
    from tailfin.client.results import ProducerStats as ProducerStats
    from tailfin.client.results import SendResult as SendResult
    from tailfin.client.results import SendStatus as SendStatus
    from tailfin.client.tls import Tls as Tls
    from tailfin.client.transactions import Decision as Decision
    from tailfin.client.transactions import Transaction as Transaction
    from tailfin.wire.error import RemotingError as RemotingError

__version__ = "0.1.0"  # Cargo.toml's; tests/unit/test_version.py compares the two

_HOMES = {
    "blocking.lite_pull_consumer": ("LitePullConsumer",),
    "blocking.pull_consumer": ("PullConsumer",),
    "blocking.push_consumer": ("PushConsumer",),
    "consuming.handlers": (
        "RETRY",
        "Retry",
    ),
    "consuming.offsets": ("OffsetStore",),
    "consuming.pull": (
        "PullResult",
        "PullStatus",
    ),
    "consuming.stats": (
        "ConsumerStats",
        "QueueStats",
    ),
    "consuming.subscriptions": ("Sql",),
    "rebalance": (
        "Averagely",
        "ByCircle",
        "ByConfig",
        "ByMachineRoom",
        "ConsistentHash",
        "MachineRoomNearby",
        "Rooms",
        "Strategy",
    ),
    "blocking.producer": ("Producer",),
    "blocking.receipts": ("Receipt",),
    "errors": (
        "ClientError",
        "ClientStopped",
        "DataLost",
        "MessageRefused",
        "NoBroker",
        "NoNameServer",
        "NoRoute",
        "ReadFailed",
        "RequestTimeout",
        "SendFailed",
        "SendTimeout",
    ),
    "hooks": ("Consuming", "EndingTransaction", "Hook", "Sending"),
    "messages": ("Message", "ReceivedMessage"),
    "once": ("MemoryKeys", "SqliteKeys", "once"),
    "queues": ("Queue",),
    "options": ("ClientOptions",),
    "producer_options": ("ProducerOptions",),
    "results": ("ProducerStats", "SendResult", "SendStatus"),
    "tls": ("Tls",),
    "transactions": ("Decision", "Transaction"),
}
_HOME_OF = {name: f"tailfin.client.{home}" for home, names in _HOMES.items() for name in names}
_HOME_OF["AdminClient"] = "tailfin.admin.blocking"
_HOME_OF["read_batches"] = _HOME_OF["read_table"] = "tailfin.arrow.table"
_HOME_OF["RemotingError"] = "tailfin.wire.error"


if not TYPE_CHECKING:  # or every misspelt name would pass for one

    def __getattr__(name: str) -> object:
        # Each name comes with its first use: `import tailfin` alone loads nothing.
        if name == "aio":
            return importlib.import_module("tailfin.aio")
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module 'tailfin' has no attribute {name!r}")
        value = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, "aio"})
