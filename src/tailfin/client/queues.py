"""A topic's queue on a broker."""

from typing import NamedTuple

from tailfin.wire.bodies.common import MessageQueue


class Queue(NamedTuple):
    """One queue of a topic; queues sort by topic, broker and number, as every RocketMQ client sorts them.

    Example:
        ```python
        producer.send(message, queue=tailfin.Queue("orders", "broker-a", 3))
        ```
    """

    topic: str
    broker: str
    queue_id: int

    def to_body(self) -> MessageQueue:
        """Return it as requests carry it."""
        return MessageQueue(topic=self.topic, broker_name=self.broker, queue_id=self.queue_id)

    @classmethod
    def of_body(cls, body: MessageQueue) -> "Queue":
        """Read it from a request or response."""
        return cls(body.topic, body.broker_name, body.queue_id)
