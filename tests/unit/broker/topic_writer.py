"""A process to be killed: makes and deletes topics as fast as it can and says what it was promised.

`+T` was acknowledged as made, `?T` is about to be deleted, `-T` was acknowledged as deleted.
"""

import asyncio
import itertools
import sys
from pathlib import Path

from tailfin.broker import saved_table
from tailfin.broker.topics import TopicTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.topics import TopicConfig

AT_ONCE = 8


async def main(folder: Path, prefix: str) -> None:
    # The file is rewritten without a pause, so that every step of that is hit.
    saved_table.REWRITE_AFTER_S, saved_table.REWRITE_SHARE = 0.001, 1.0
    topics = TopicTable(folder, BrokerConfig())
    topics.load()
    topics.on_touch = topics.file.changed
    numbers = itertools.count()

    async def make() -> None:
        for number in numbers:
            name = f"{prefix}{number}"
            topics.put([TopicConfig(topic_name=name)])
            await topics.file.settled()
            print(f"+{name}", flush=True)
            if number % 3 == 0:
                print(f"?{name}", flush=True)
                topics.delete(name)
                await topics.file.settled()
                print(f"-{name}", flush=True)

    await asyncio.gather(*(make() for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
