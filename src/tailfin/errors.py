"""Every exception of Tailfin.

```
Exception
├── StoreError              the store refuses or fails; an operating system error stays an OSError
│   ├── StoreDamaged        a file is not what the format allows: the text names file and position
│   ├── StoreLocked         another store holds the directory
│   ├── StoreClosed         the store was closed
│   └── AppendRefused       not acknowledged: `.status` is RocketMQ's put status, `.result` what was stored
├── RemotingError           a request that ended with another code than SUCCESS: `.code`, `.remark`
└── ValueError
    └── ConfigError         a setting that cannot work: the text names the key and what would do
```
"""

from tailfin.config.setting import ConfigError
from tailfin.store import AppendRefused, StoreClosed, StoreDamaged, StoreError, StoreLocked
from tailfin.wire.error import RemotingError

__all__ = [
    "AppendRefused",
    "ConfigError",
    "RemotingError",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreLocked",
]
