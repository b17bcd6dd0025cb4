"""The three ways to send, to `await`: `tailfin.aio` has the names of `tailfin`.

Run it with `python examples/producer_asyncio.py [NAMESERVER]`.
"""

import asyncio
import sys

import tailfin
from tailfin import aio


async def send(nameserver: str) -> None:
    async with aio.Producer("please_rename_unique_group_name", nameserver=nameserver) as producer:
        result = await producer.send(tailfin.Message("TopicTest", b"Hello 0", tags="TagA", keys="0"))
        print("stored:", result.status.name, "in", result.queue, "at", result.queue_offset)

        # Waits only while there is no room for more; the receipts are awaited when it suits you.
        receipts = [
            await producer.send_soon(tailfin.Message("TopicTest", b"Hello %d" % number))
            for number in range(1, 100)
        ]
        results = await asyncio.gather(*receipts)
        print("stored:", sum(each.status is tailfin.SendStatus.SEND_OK for each in results))

        await producer.send_oneway(tailfin.Message("TopicTest", b"Hello 100", tags="TagB"))


def main(nameserver: str = "127.0.0.1:9876") -> None:
    asyncio.run(send(nameserver))


if __name__ == "__main__":
    main(*sys.argv[1:2])
