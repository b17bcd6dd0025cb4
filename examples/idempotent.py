"""Messages come at least once, so they may come twice. A key from your business tells which are the same.

Run it with `python examples/idempotent.py [NAMESERVER]`.
"""

import queue
import sys
import time

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("ons-producer", nameserver=nameserver) as producer:
        # The same order twice, as by a producer that was not sure whether its first try arrived.
        for _ in range(2):
            producer.send(tailfin.Message("ons_test", b"charge 42 EUR", keys="ORDERID_100"))
        producer.send(tailfin.Message("ons_test", b"charge 7 EUR", keys="ORDERID_101"))

    charged: queue.SimpleQueue[str] = queue.SimpleQueue()

    # In memory for one process; tailfin.SqliteKeys("keys.db") remembers over restarts.
    @tailfin.once(keys=tailfin.MemoryKeys())
    def charge(message: tailfin.ReceivedMessage) -> None:
        charged.put(f"{message.keys[0]}: {message.body.decode()}")

    with tailfin.PushConsumer(
        "ons-consumer",
        nameserver=nameserver,
        subscribe={"ons_test": "*"},
        handler=charge,
        consume_from="first",
    ) as consumer:
        for line in sorted(charged.get(timeout=60) for _ in range(2)):
            print(line)
        while consumer.stats().consumed < 3:  # the third was consumed, and not charged
            time.sleep(0.01)
    print("charged twice:", not charged.empty())


if __name__ == "__main__":
    main(*sys.argv[1:2])
