"""A message that is delivered if, and only if, your own work was done.

The broker takes the message first and keeps it back. Then you do your work; its end decides. If your process
dies in between, the broker asks any producer of the group how it ended.
Run it with `python examples/transaction.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin

paid: set[str] = set()  # your database


def check(message: tailfin.ReceivedMessage) -> tailfin.Transaction:
    """Say how it ended: the broker asks when nobody told it."""
    return tailfin.Transaction.COMMIT if message.keys[0] in paid else tailfin.Transaction.ROLLBACK


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("pay-producer", nameserver=nameserver, check=check) as producer:
        # The end of the block commits: now the message is delivered.
        with producer.transaction(tailfin.Message("PayTest", b"order 1 is paid", keys="order-1")):
            paid.add("order-1")
        # An exception rolls back: nobody will ever see the message.
        try:
            with producer.transaction(tailfin.Message("PayTest", b"order 2 is paid", keys="order-2")):
                raise OSError("the database is away")
        except OSError as error:
            print("order 2 is not paid:", error)
        # Nothing said yet: the broker will ask `check`, a minute later at the latest.
        with producer.transaction(tailfin.Message("PayTest", b"order 3 is paid", keys="order-3")) as later:
            paid.add("order-3")
            later.leave_open()

        got: queue.SimpleQueue[str] = queue.SimpleQueue()
        with tailfin.PushConsumer(
            "pay-consumer",
            nameserver=nameserver,
            subscribe={"PayTest": "*"},
            handler=lambda message: got.put(message.body.decode()),
            consume_from="first",
        ):
            for _ in range(2):
                print("got:", got.get(timeout=120))


if __name__ == "__main__":
    main(*sys.argv[1:2])
