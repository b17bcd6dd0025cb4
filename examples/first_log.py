"""Append a message to a log of your own and read it back: no server, only a directory.

Run it with `python examples/first_log.py [DIRECTORY]`; the directory is `data` unless named.
"""

import sys

from tailfin.store import Store


def main(path: str = "data") -> None:
    with Store(path) as store:
        store.append("FooBar", b"Once, there was a chance for me!", queue_id=0, keys="k1", tags="TagA")
        for message in store.read("FooBar", 0, offset=0, limit=32):
            print(message.queue_offset, message.body)


if __name__ == "__main__":
    main(*sys.argv[1:2])
