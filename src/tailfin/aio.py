"""The client to `await`: the same names as in `tailfin`, on asyncio.

```python
import tailfin
from tailfin import aio

async with aio.Producer("shop", nameserver="127.0.0.1:9876") as producer:
    await producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
```
"""

from tailfin.admin.client import AdminClient
from tailfin.client.consuming.lite_pull import LitePullConsumer
from tailfin.client.consuming.pull import PullConsumer
from tailfin.client.consuming.push import PushConsumer
from tailfin.client.producer import Producer
from tailfin.client.receipts import Receipt

__all__ = ["AdminClient", "LitePullConsumer", "Producer", "PullConsumer", "PushConsumer", "Receipt"]
