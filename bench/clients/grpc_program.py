"""rocketmq-python-client: gRPC to the official proxy. Bounded by time as well, for it may be slow."""

import collections
import threading
import time

# Installed in an environment of its own, never in the project's.
from rocketmq import (  # type: ignore[import-not-found]
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
)

from bench.clients.measuring import Wanted, measure, wanted

UNDER_WAY = 256
LOOK_SECONDS = 0.001


def produce(asked: Wanted) -> None:
    """Send messages without waiting for each, so many under way, and look at every outcome."""
    producer = Producer(configuration(asked), (asked.topic,))
    producer.startup()
    body = b"x" * asked.body

    def send(count: int, seconds: float) -> int:
        end = time.monotonic() + seconds
        waiting: collections.deque[object] = collections.deque()
        sent = 0
        while sent < count and time.monotonic() < end:
            message = Message()
            message.topic = asked.topic
            message.body = body
            waiting.append(producer.send_async(message))
            sent += 1
            if len(waiting) >= UNDER_WAY:
                waiting.popleft().result()  # type: ignore[attr-defined]
        for each in waiting:
            each.result()  # type: ignore[attr-defined]
        return sent

    send(asked.warmup, asked.seconds / 4)
    measure(asked.action, asked.body, lambda: send(asked.count, asked.seconds))
    producer.shutdown()


class Counting(MessageListener):  # type: ignore[misc]  # the package is unknown to the type checker
    """Counts messages, the right ones."""

    def __init__(self, body: int) -> None:
        self.body = body
        self.lock = threading.Lock()
        self.count = 0

    def consume(self, message: Message) -> object:
        """Take one message."""
        if len(message.body) != self.body:
            raise SystemExit(f"{len(message.body)} bytes in a message")
        with self.lock:
            self.count += 1
        return ConsumeResult.SUCCESS


def consume(asked: Wanted) -> None:
    """Read from the topic's beginning with the push consumer and its own number of threads."""
    counting = Counting(asked.body)
    everything = {asked.topic: FilterExpression()}
    consumer = PushConsumer(configuration(asked), "bench", counting, everything)
    consumer.startup()

    def read(count: int, seconds: float) -> int:
        before, end = counting.count, time.monotonic() + seconds
        while counting.count - before < count and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return counting.count - before

    while not counting.count:
        time.sleep(LOOK_SECONDS)
    read(asked.warmup, asked.seconds / 4)
    measure("consume", asked.body, lambda: read(asked.count, asked.seconds))
    consumer.shutdown()


def configuration(asked: Wanted) -> ClientConfiguration:
    return ClientConfiguration(asked.address, Credentials(), request_timeout=30)


if __name__ == "__main__":
    asked = wanted()
    if asked.action == "consume":
        consume(asked)
    else:
        produce(asked)
