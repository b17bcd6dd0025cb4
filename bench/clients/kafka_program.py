"""confluent-kafka: produce with a linger of 5 ms, consume with fetches of megabytes."""

# Installed in an environment of its own, never in the project's.
from confluent_kafka import (  # type: ignore[import-not-found]
    Consumer,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[import-not-found]

from bench.clients.measuring import Wanted, measure, wanted

PARTITIONS = 8
POLL_EVERY = 1024
PER_CALL = 10_000
PRODUCE = {
    "linger.ms": 5,
    "batch.size": 1 << 20,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 1 << 20,
}
CONSUME = {
    "group.id": "bench",
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 10,
    "fetch.max.bytes": 64 << 20,
    "max.partition.fetch.bytes": 8 << 20,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 1 << 20,
    "fetch.queue.backoff.ms": 5,
}


def produce(asked: Wanted, *, collect: bool) -> None:
    """Send messages; with `collect` every single outcome is looked at, else only those that failed."""
    failures: list[object] = []
    arrived = 0

    def seen(error: object, _message: object) -> None:
        nonlocal arrived
        if error is None:
            arrived += 1
        else:
            failures.append(error)

    failed_only = {"delivery.report.only.error": True, "on_delivery": seen}
    where = {"bootstrap.servers": asked.address}
    producer = Producer(where | PRODUCE | ({} if collect else failed_only))
    body = b"x" * asked.body
    options = {"on_delivery": seen} if collect else {}

    def send(count: int) -> int:
        nonlocal arrived
        arrived = 0
        for number in range(count):
            if number % POLL_EVERY == 0:
                producer.poll(0)
            while True:
                try:
                    producer.produce(asked.topic, body, **options)
                    break
                except BufferError:
                    producer.poll(0.01)
        while producer.flush(1):
            pass
        if failures or (collect and arrived != count):
            raise SystemExit(f"{arrived} of {count} arrived, failures {failures[:3]}")
        return count

    send(asked.warmup)
    measure(asked.action, asked.body, lambda: send(asked.count))


def consume(asked: Wanted) -> None:
    """Read the topic once to warm up, then again from its beginning; touch every body."""
    consumer = Consumer({"bootstrap.servers": asked.address} | CONSUME)

    def read() -> int:
        consumer.assign([TopicPartition(asked.topic, each, 0) for each in range(PARTITIONS)])
        count = size = 0
        while count < asked.count:
            messages = consumer.consume(min(PER_CALL, asked.count - count), 1.0)
            count += len(messages)
            for message in messages:
                size += len(message.value())
        if size != count * asked.body:
            raise SystemExit(f"{size} bytes in {count} messages")
        return count

    read()
    measure("consume", asked.body, read)
    consumer.close()


def create(asked: Wanted) -> None:
    """Create the topic if it is not there yet."""
    admin = AdminClient({"bootstrap.servers": asked.address})
    if asked.topic not in admin.list_topics(timeout=60).topics:
        admin.create_topics([NewTopic(asked.topic, PARTITIONS, 1)])[asked.topic].result()


if __name__ == "__main__":
    asked = wanted()
    create(asked)
    if asked.action == "consume":
        consume(asked)
    else:
        produce(asked, collect=asked.action == "collect")
