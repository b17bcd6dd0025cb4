"""Tailfin's client: `send_soon` with its linger of 5 ms, and polls of the lite pull consumer."""

from bench.clients.measuring import Wanted, measure, wanted
from tailfin import LitePullConsumer, Message, Producer, Receipt

LOOK_EVERY = 10_000
"""Messages that are sent before those of the time before are looked at."""
PER_CALL = 10_000


def look(receipts: list[Receipt]) -> None:
    """Look at the outcome of every message."""
    failures = [error for receipt in receipts if (error := receipt.exception())]
    if failures:
        raise SystemExit(f"not all arrived: {failures[:3]}")


def produce(asked: Wanted, *, collect: bool) -> None:
    """Send messages; with `collect` every single outcome is looked at, else only those that failed."""
    body = b"x" * asked.body
    with Producer("bench", nameserver=asked.address) as producer:

        def send(count: int) -> int:
            for _ in range(count):
                producer.send_soon(Message(asked.topic, body))
            producer.flush()
            if producer.stats().failed:
                raise SystemExit(f"not all arrived: {producer.stats()}")
            return count

        def send_and_look(count: int) -> int:
            before: list[Receipt] = []
            for first in range(0, count, LOOK_EVERY):
                here = range(first, min(first + LOOK_EVERY, count))
                receipts = [producer.send_soon(Message(asked.topic, body)) for _ in here]
                look(before)
                before = receipts
            look(before)
            return count

        work = send_and_look if collect else send
        work(asked.warmup)
        measure(asked.action, asked.body, lambda: work(asked.count))


def consume(asked: Wanted) -> None:
    """Read the topic once to warm up, then again from its beginning; touch every body."""
    with LitePullConsumer(
        "bench",
        nameserver=asked.address,
        subscribe={asked.topic: "*"},
        consume_from="first",
        pull_batch=1024,
        pull_bytes=4 << 20,
        queue_messages=50_000,
        queue_span=None,
    ) as consumer:

        def read() -> int:
            count = size = 0
            while count < asked.count:
                messages = consumer.poll(1.0, min(PER_CALL, asked.count - count))
                count += len(messages)
                for message in messages:
                    size += len(message.body)
            if size != count * asked.body:
                raise SystemExit(f"{size} bytes in {count} messages")
            return count

        def read_again() -> int:
            for queue in consumer.queues:
                consumer.seek_to_begin(queue)
            return read()

        read()
        measure("consume", asked.body, read_again)


if __name__ == "__main__":
    asked = wanted()
    if asked.action == "consume":
        consume(asked)
    else:
        produce(asked, collect=asked.action == "collect")
