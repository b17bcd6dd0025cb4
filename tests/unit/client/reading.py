"""What a cluster has stored, read from its brokers' stores."""

from tailfin.client.messages import ReceivedMessage, read_message
from tailfin.message import Message
from tailfin.testing import Cluster


def received(running: Cluster, topic: str) -> list[ReceivedMessage]:
    """Return a topic's messages as a consumer would get them."""
    return [read_message(each.raw, broker="broker-a", namespace=None) for each in stored(running, topic)]


def stored(running: Cluster, topic: str) -> list[Message]:
    """Return a topic's messages, those of each queue in order."""
    found: list[Message] = []
    for broker in running.brokers:
        if broker.is_stopped:
            continue
        for queue_id in sorted(broker.store.topics().get(topic, [])):
            offset = broker.store.min_offset(topic, queue_id)
            while batch := list(broker.store.read(topic, queue_id, offset, 1000)):
                found += batch
                offset = batch[-1].queue_offset + 1
    return found


def bodies(running: Cluster, topic: str) -> list[bytes]:
    """Return the bodies of a topic's messages, sorted."""
    return sorted(each.body for each in stored(running, topic))
