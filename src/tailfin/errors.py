"""Every exception of Tailfin.

```
Exception
├── StoreError              the store refuses or fails; an operating system error stays an OSError
│   ├── StoreDamaged        a file is not what the format allows: the text names file and position
│   ├── StoreLocked         another store holds the directory
│   ├── StoreClosed         the store was closed
│   └── AppendRefused       not acknowledged: `.status` is RocketMQ's put status, `.result` what was stored
├── RemotingError           a request that ended with another code than SUCCESS: `.code`, `.remark`
├── ClientError             what producers and consumers raise by themselves; the text says what to do
│   ├── ClientStopped       not started yet, or stopped
│   ├── NoNameServer        none of the name servers answers: `.tried`
│   ├── NoRoute             a topic that does not exist, or has no queue for this use: `.topic`
│   ├── NoBroker            a broker that no route names: `.broker`
│   ├── MessageRefused      a message no broker would take (also a ValueError): `.index` in a batch
│   ├── SendFailed          not acknowledged: `.code` of the last try, `.tries`
│   │   └── SendTimeout     the time was over (also a TimeoutError)
│   ├── RequestTimeout      no reply to a request message (also a TimeoutError)
│   ├── ReadFailed          a part of a queue cannot be read: `.code` of the last try
│   ├── DataLost            messages that were to be read are gone: `.lost` names them
│   ├── BadRecord           a body that Spark's source cannot decode
│   ├── VersionMismatch     an executor of Spark has another version than the driver
│   └── AdminError          an operator's wish that cannot be carried out as it is
│       └── NotFound        no such topic, group, broker, client or message (also a LookupError)
└── ValueError
    └── ConfigError         a setting that cannot work: the text names the key and what would do
```
"""

from tailfin.admin.errors import AdminError, NotFound
from tailfin.client.errors import (
    ClientError,
    ClientStopped,
    DataLost,
    MessageRefused,
    NoBroker,
    NoNameServer,
    NoRoute,
    ReadFailed,
    RequestTimeout,
    SendFailed,
    SendTimeout,
)
from tailfin.config.setting import ConfigError
from tailfin.spark.errors import BadRecord, VersionMismatch
from tailfin.store import AppendRefused, StoreClosed, StoreDamaged, StoreError, StoreLocked
from tailfin.wire.error import RemotingError

__all__ = [
    "AdminError",
    "AppendRefused",
    "BadRecord",
    "ClientError",
    "ClientStopped",
    "ConfigError",
    "DataLost",
    "MessageRefused",
    "NoBroker",
    "NoNameServer",
    "NoRoute",
    "NotFound",
    "ReadFailed",
    "RemotingError",
    "RequestTimeout",
    "SendFailed",
    "SendTimeout",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreLocked",
    "VersionMismatch",
]
