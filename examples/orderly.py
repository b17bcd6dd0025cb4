"""Messages of one key stay in the order they were sent: a key has one queue, a queue one handler at a time.

Run it with `python examples/orderly.py [NAMESERVER]`.
"""

import queue
import sys
from collections import defaultdict

import tailfin

STEPS = ("created", "paid", "shipped")


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("order-producer", nameserver=nameserver) as producer:
        for step in STEPS:
            for order in range(5):
                # All messages with one sharding key go to one queue.
                message = tailfin.Message("OrderTest", f"{order} {step}".encode())
                producer.send(message, sharding_key=f"order-{order}")

    handled: queue.SimpleQueue[str] = queue.SimpleQueue()

    def handle(message: tailfin.ReceivedMessage) -> None:
        # If this raises, the queue waits and the same message is tried again: nothing overtakes it.
        handled.put(message.body.decode())

    seen: dict[str, list[str]] = defaultdict(list)
    with tailfin.PushConsumer(
        "order-consumer",
        nameserver=nameserver,
        subscribe={"OrderTest": "*"},
        handler=handle,
        orderly=True,
        consume_from="first",
    ):
        for _ in range(5 * len(STEPS)):
            which, step = handled.get(timeout=60).split()
            seen[which].append(step)
    for number, steps in sorted(seen.items()):
        print("order", number, "was", ", ".join(steps))


if __name__ == "__main__":
    main(*sys.argv[1:2])
